// A request as the address of the page Try has it, and as the service takes it.

import { amount, sized } from "./text.js";

const AMOUNTS = ["vcpus", "memory_mb", "disk_gb"];
export const POLICIES = ["anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"];

export const names = (text = "") => text.split("\n").filter(Boolean);

const isNothing = (value) => value === null || (typeof value === "object" && !Object.keys(value).length);

/** The link's parameters for what a record holds, less what it leaves open. */
export function kept({ request_spec: spec, filters_off: off }, more = []) {
	const given = [...off.map((name) => ({ kind: "filter", suffix: null, names: [name] })), ...more];
	const whole = JSON.stringify(spec, function (_, value) { return isNothing(value) && !Array.isArray(this) ? undefined : value; });
	return { spec: whole, given_up: given.map((one) => JSON.stringify(one)).join("\n") };
}

/** A request in the words of the command line. */
export const worded = (value, key) => (isNothing(value) ? [] : typeof value === "object" && !Array.isArray(value)
	? Object.entries(value).flatMap(([name, one]) => worded(one, name)) : `${key}=${JSON.stringify(value)}`);

/** What a request is about, by what it is of: flavor, zone, traits, group, hosts. */
export function wanted({ flavor = {}, availability_zone: zone, instance_group: group, force_hosts: forced = [], requested_destination: aim }) {
	const { name = "", vcpus = 0, memory_mb: memory = 0, root_gb: root = 0, ephemeral_gb: ephemeral = 0, extra_specs: extra = {} } = flavor;
	const size = [`${amount(vcpus)} VCPU`, sized(memory, "MEMORY_MB"), sized(root + ephemeral, "DISK_GB")].join(", ");
	const traits = Object.entries(extra).map(([key, rule]) => [key.match(/^trait[^:]*:(.+)$/)?.[1], rule])
		.filter(([trait]) => trait).map(([trait, rule]) => (rule === "forbidden" ? `not ${trait}` : trait));
	const hosts = [...forced, aim?.host].filter(Boolean);
	return Object.entries({
		Flavor: name && !name.includes("=") ? `${name}: ${size}` : size,
		Zone: zone, Traits: traits.join(", "),
		Group: group && [group.policy, group.uuid].filter(Boolean).join(" "),
		Host: hosts.join(", "),
	}).filter(([, text]) => text);
}

const AMOUNT = /^(vcpus|memory_mb|root_gb|ephemeral_gb|swap)=(\d{1,15})$/;
const TEXT = /^(name|flavorid|[^=]*:[^=]*)=(.*)$/s;

/** The flavor that `words` describe: vcpus=2,hw:cpu_policy=dedicated. Raises an Error that says which word is wrong. */
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

/** What is asked: { request_spec, given_up }. `aggregates`: uuid -> name. Raises an Error
 * that says what is wrong. */
export function asked(params, aggregates) {
	const base = JSON.parse(params.spec || "{}");
	const words = [...AMOUNTS.filter((key) => params[key]).map((key) => `${key}=${params[key]}`), params.more].filter(Boolean).join(",");
	const { extra_specs: extra, name, ...size } = flavor(words);
	for (const rule of ["required", "forbidden"]) for (const trait of names(params[rule])) extra[`trait:${trait}`] = rule;
	const spec = { ...base, flavor: { name, ...base.flavor, ...size, extra_specs: { ...base.flavor?.extra_specs, ...extra } } };
	const uuids = (key) => names(params[key]).flatMap((wanted) => {
		const found = [...aggregates].filter(([uuid, known]) => wanted === known || wanted === uuid).map(([uuid]) => uuid);
		return found.length ? found : [wanted];
	});
	const [within, outside] = [uuids("within"), uuids("outside")];
	const place = base.requested_destination ?? {};
	if (within.length || outside.length) {
		spec.requested_destination = {
			...place, aggregates: [...(place.aggregates ?? []), ...(within.length ? [within] : [])],
			forbidden_aggregates: [...(place.forbidden_aggregates ?? []), ...outside],
		};
	}
	if (params.zone) spec.availability_zone = params.zone;
	if (params.group) spec.instance_group = POLICIES.includes(params.group) ? { policy: params.group } : { uuid: params.group };
	if (params.count) spec.num_instances = Number(params.count);
	return { request_spec: spec, given_up: names(params.given_up).map((one) => JSON.parse(one)) };
}

/** A change, which is JSON or nonsense, in a few words. */
export function conceded(text) {
	try {
		const { kind, names: about, amount, lowered = null } = JSON.parse(text);
		return `${kind.replaceAll("_", " ")} ${about.join(", ")}${lowered === null ? "" : `: ${lowered} instead of ${amount}`}`;
	} catch {
		return text;
	}
}
