package main

// graphs are mutations of dependencies between objects, conditions, values that flow, ignored fields, and the rate of
// passes.
var graphs = []mutation{
	{
		"a new object does not wait for its dependencies", "plan/graph.go",
		`return undecided || d.action != nil && !d.repair ||`, `return undecided || d.action != nil && false ||`,
		"Dependencies between objects",
	},
	{
		"an object is deleted before the objects that depend on it", "plan/delete_graph.go",
		`return known && g.dependents[i] > 0`, `return known && false`,
		"Dependencies between objects|Dependencies, exported values and observed objects together",
	},
	{
		"a condition without a value is false", "inclusion/inclusion.go",
		`		return decision{held: e.undecided(manifests.AnnotationIncludeWhen, c.Include, missing, err)}`,
		`		return decision{excluded: true}`,
		"The conditions of dependents",
	},
	{
		"a missing object is created again although its condition has no value", "plan/rules.go",
		`if c.live.Presence != Absent || c.object.Undecided == nil {`, `if true {`,
		"The conditions of dependents",
	},
	{
		"a hole without a value is sent to the API server", "applier/export_values.go",
		`	case len(result.Missing) > 0:`, `	case len(result.Missing) > 100:`,
		"Values that flow between objects:",
	},
	{
		"an object whose deletion counts as complete by gone-when is waited for", "plan/removal.go",
		`return r.live.Terminating && r.live.Gone == GoneHolds && `, `return false && `,
		"others do not wait for an object that is being deleted",
	},
	{
		"an applied object whose condition active-when is false is pruned", "inclusion/inclusion.go",
		`case r.inactive() && !in.Recorded(o.Key):`, `case r.inactive():`,
		"The conditions of dependents",
	},
	{
		"a type whose definition was deleted counts as served", "discovery/reader.go",
		`(gk.Group == "" || r.capabilities.known().mayServe(gk))`, `(gk.Group == "" || true)`,
		"an applied object whose definition is deleted",
	},
	{
		"an object with the prune policy at-once waits for other objects", "plan/apply.go",
		`atOnce := e.PrunePolicy == metav1alpha1.PruneAtOnce && len(f.Open) == 0`, `atOnce := false`,
		"prune policy",
	},
	{
		"a component is rendered without a value of another component", "input/component_exports.go",
		`missing && !w.optional {`, `missing && false {`,
		"Published exports of a component:",
	},
	{
		"passes are not limited within a period", "schedule/limiter.go",
		`return max(0, ends[0].Add(w.period).Sub(now))`, `return 0`,
		"with a limiter",
	},
	{
		"an update sends ignored fields with the value of the manifest", "execute/applyignoring.go",
		`	if len(paths) == 0 {`, `	if true {`,
		"Ignored fields",
	},
}
