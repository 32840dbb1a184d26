// The pages of the dashboard, in the order of the navigation. Each is an object
// { name, title, open(root) } whose open returns { update(params), close() }:
// `update` is called at once, and whenever the parameters in the address change.

import { capacityPage } from "./capacity.js";
import { decisionsPage } from "./decisions.js";
import { fleetPage } from "./fleet.js";
import { healthPage } from "./health.js";
import { shadowPage } from "./shadow.js";
import { tryPage } from "./try.js";

export const PAGES = [fleetPage, decisionsPage, tryPage, capacityPage, shadowPage, healthPage];
