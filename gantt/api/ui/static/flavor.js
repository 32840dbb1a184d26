// Flavors in the words of the command line: vcpus=2,hw:cpu_policy=dedicated

const AMOUNT = /^(vcpus|memory_mb|root_gb|ephemeral_gb|swap)=(\d{1,15})$/;
const TEXT = /^(name|flavorid|[^=]*:[^=]*)=(.*)$/s;

/** The flavor that `words` describe. Raises an Error that says which word is wrong. */
export function flavor(words) {
	const found = { name: words, extra_specs: {} };
	for (const word of words.split(",").filter(Boolean)) {
		const field = word.replace(/^disk(_gb)?=/, "root_gb=").replace(/^ram=/, "memory_mb=");
		const [, key, value] = AMOUNT.exec(field) ?? TEXT.exec(field) ?? [];
		if (!key) throw new Error(`"${word}" is not a field of a flavor: write vcpus=2,memory_mb=4096,disk_gb=20.`);
		if (key.includes(":")) found.extra_specs[key] = value;
		else found[key] = AMOUNT.test(field) ? Number(value) : value;
	}
	return found;
}
