// The pages, in the order of the navigation. `update(params)` of each is called at once,
// and whenever what the address says changes; then `close()`.

import { CapacityView } from "./capacity.js";
import { DecisionsView } from "./decisions.js";
import { FleetView } from "./fleet.js";
import { HealthView } from "./health.js";
import { ShadowView } from "./shadow.js";
import { TryView } from "./try.js";

const VIEWS = { Fleet: FleetView, Decisions: DecisionsView, Try: TryView, Capacity: CapacityView, Shadow: ShadowView, Health: HealthView };

export const PAGES = Object.entries(VIEWS).map(([title, View]) => ({ name: title.toLowerCase(), title, View }));
