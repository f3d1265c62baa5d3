package main

// graphs are mutations of dependencies between objects, conditions, values that flow, and ignored fields.
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
		`		return result{held: e.undecided(manifests.AnnotationIncludeWhen, c.Include, missing, err)}`,
		`		return result{excluded: true}`,
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
		"an update sends ignored fields with the value of the manifest", "execute/applyignoring.go",
		`	if len(paths) == 0 {`, `	if true {`,
		"Ignored fields",
	},
}
