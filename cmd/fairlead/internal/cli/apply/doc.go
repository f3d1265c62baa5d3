// Package apply contains the commands apply, plan and diff. Apply publishes a source and writes a component. Before it
// writes, it plans what the operator would do, and a preflight decides by this plan. Plan and diff print such a plan.
package apply
