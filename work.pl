my @rows = map { { name => "n" . $_ * 7919 % 3000, v => [($_) x 5] } } 0 .. 2999;
my %by = map { $_->{name} => $_ } sort { $a->{name} cmp $b->{name} } @rows;
my $text = join ",", map { "$_=$by{$_}{v}[0]" } sort keys %by;
print length($text), " ", scalar(() = $text =~ /n\d+/g), "\n";
