use std::collections::BTreeMap;
fn main() {
    let mut m = BTreeMap::new();
    for i in 0..3000u32 { m.insert(format!("n{}", i * 7919 % 3000), vec![i; 5]); }
    println!("{} {}", m.len(), m.values().map(|v| v[0] as u64).sum::<u64>());
}
