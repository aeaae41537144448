const rows = [];
for (let i = 0; i < 3000; i++)
	rows.push({ name: 'n' + i * 7919 % 3000, v: [i, i, i] });
rows.sort((a, b) => a.name < b.name ? -1 : 1);
console.log(JSON.stringify(rows).match(/n\d+/g).length, Buffer.alloc(100000, 'x').toString().length);
