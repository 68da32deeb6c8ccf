// The layout of the tree of states.
export { hierarchy, tree } from "d3-hierarchy";
