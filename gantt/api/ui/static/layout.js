// Where hosts stand on the map: blocks of slots.

// Room for the name of a group, at least so wide; and between groups.
const FEW = { head: 18, gap: 10, label: 72 };
const MANY = { head: 13, gap: 5, label: 44 };
const MOST_FEW = 60;
const LARGEST = 88;
const SMALLEST = 2;
const SHAPES = [1.6, 1, 2.4, -1, -2, -3, -4, -5, -6];

/** How many columns a group of `size` has; `shape`: about so many times as wide as
 * high; below zero: so many side by side. */
function columnsOf(size, pitch, width, shape, { gap, label }) {
	const least = Math.ceil(label / pitch);
	const most = Math.max(1, Math.floor(width / pitch));
	const wanted = shape > 0
		? Math.ceil(Math.sqrt(size * shape))
		: Math.min(size, Math.floor(((width + gap) / -shape - gap) / pitch));
	return Math.min(most, Math.max(wanted, least));
}

function shelve(groups, pitch, width, shape) {
	const room = groups.length > MOST_FEW ? MANY : FEW;
	const blocks = [];
	let [x, y, tallest] = [0, 0, 0];
	for (const group of groups) {
		const size = group.members.length;
		const columns = columnsOf(size, pitch, width, shape, room);
		const across = Math.min(columns * pitch, width);
		const down = room.head + Math.ceil(size / columns) * pitch;
		if (x > 0 && x + across > width) {
			x = 0;
			y += tallest + room.gap;
			tallest = 0;
		}
		blocks.push({ group, x, y, columns, width: across, height: down, head: room.head });
		x += across + room.gap;
		tallest = Math.max(tallest, down);
	}
	return { blocks, height: y + tallest };
}

function fitted(groups, width, height, shape) {
	let [low, high] = [SMALLEST, LARGEST];
	while (low < high) {
		const middle = Math.ceil((low + high) / 2);
		if (shelve(groups, middle, width, shape).height <= height) low = middle;
		else high = middle - 1;
	}
	return { pitch: low, ...shelve(groups, low, width, shape) };
}

/** Blocks of equal slots that fill `width` x `height`. `groups`: in order,
 * { name, members }, members being indices of hosts. */
export function arrange(groups, width, height, count) {
	const found = SHAPES.map((shape) => fitted(groups, width, height, shape)).reduce((best, one) =>
		(one.pitch > best.pitch || (one.pitch === best.pitch && one.height < best.height) ? one : best));
	const { pitch } = found;
	const x = new Float32Array(count);
	const y = new Float32Array(count);
	const order = [];
	for (const block of found.blocks) {
		block.first = order.length;
		block.group.members.forEach((index, at) => {
			x[index] = block.x + (at % block.columns) * pitch;
			y[index] = block.y + block.head + Math.floor(at / block.columns) * pitch;
			order.push(index);
		});
	}
	return { pitch, x, y, blocks: found.blocks, order, height: found.height };
}

export function hostAt(arranged, x, y) {
	const { pitch } = arranged;
	for (const block of arranged.blocks) {
		const across = Math.floor((x - block.x) / pitch);
		const down = Math.floor((y - block.y - block.head) / pitch);
		if (across < 0 || down < 0 || across >= block.columns) continue;
		const at = down * block.columns + across;
		if (at < block.group.members.length) return block.group.members[at];
	}
	return -1;
}

/** The host that is next to `index` in a direction; itself at an edge. */
export function neighbour(arranged, index, key) {
	const at = arranged.order.indexOf(index);
	if (at < 0) return arranged.order[0] ?? -1;
	const block = arranged.blocks.findLast((one) => at >= one.first);
	const inside = at - block.first;
	const size = block.group.members.length;
	const first = (by) => (arranged.blocks[arranged.blocks.indexOf(block) + by] ?? block).first;
	const move = {
		ArrowLeft: at - 1,
		ArrowRight: at + 1,
		ArrowUp: inside - block.columns >= 0 ? at - block.columns : block.first - 1,
		ArrowDown: inside + block.columns < size ? at + block.columns : block.first + size,
		Home: 0,
		End: arranged.order.length - 1,
		PageUp: first(-1),
		PageDown: first(1),
	}[key];
	return arranged.order[Math.max(0, Math.min(arranged.order.length - 1, move))];
}
