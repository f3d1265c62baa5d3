package main

// writing are mutations of what is sent to the API server.
var writing = []mutation{
	{
		"create adopts", "execute/write.go",
		`map[string]any{"resourceVersion": "1"}`, `map[string]any{}`,
		"An object that exists already|Two operators of the same name",
	},
	{
		"apply to any incarnation", "execute/write.go",
		`preconditions := map[string]any{"uid": string(a.UID)}`, `preconditions := map[string]any{}`,
		"An object that changes hands",
	},
	{
		"replace whatever is there", "execute/write.go",
		"	if found.UID != a.UID || !inSameHands(found, a) {\n		return nil, overtaken(a)\n	}\n	merged,", "	merged,",
		"An object that changes hands",
	},
	{
		"adopt what others adopt", "execute/write.go",
		`preconditions["resourceVersion"] = version`, `_ = version`,
		"An object that changes hands right before it is written is not adopted",
	},
	{
		"apply without force", "execute/write.go",
		`Force: new(true)`, `Force: new(false)`,
		"A dependent that somebody else changes",
	},
	{
		"predecessors keep their fields", "execute/migrate.go",
		`case entry.Manager == reconciler, handover == plan.HandoverAll:`, `case entry.Manager == reconciler:`,
		"An object that another tool made",
	},
	{
		"no migration to apply", "execute/write.go",
		"	if a.Migrate {\n", "	if false {\n",
		"A dependent whose update policy changes",
	},
	{
		"replace drops nothing", "execute/write.go",
		`merge(live, a.Object.Body.Object, e.dropped(live, found, a))`, `merge(live, a.Object.Body.Object, nil)`,
		"Changing the manifests of a component",
	},
	{
		"replace resets defaults", "execute/write.go",
		`if manifests.SameContent(found.Digest, a.Object.Digest) {`, `if false {`,
		"A dependent that others have their part in under update policy replace",
	},
	{
		"replace claims nothing", "execute/write.go",
		`if err := claim(updated, a, e.reconciler); err != nil {`, `if err := error(nil); err != nil {`,
		"A dependent that others have their part in under update policy replace",
	},
	{
		"replace writes without need", "execute/write.go",
		`if !changed && found.Coverage == plan.CoverageFull && !a.Forced {`, `if _ = changed; false {`,
		"A dependent that others have their part in under update policy replace",
	},
	{
		"items of others are lost", "execute/merge.go",
		"	keepOthers(len(live))\n", "",
		"Changing the manifests of a component",
	},
	{
		"atomic values are merged", "execute/merge.go",
		`if l, ok := live.(map[string]any); ok && !n.atomic() {`, `if l, ok := live.(map[string]any); ok {`,
		"Changing the manifests of a component|A dependent that somebody else changes",
	},
	{
		"delete without preconditions", "execute/delete.go",
		`Preconditions:     &metav1.Preconditions{UID: &a.UID, ResourceVersion: &a.ResourceVersion},`, "",
		"An object that changes hands",
	},
	{
		"delete what others took over", "execute/delete.go",
		`, ResourceVersion: &a.ResourceVersion}`, `}`,
		"An object that changes hands",
	},
	{
		"workloads leave their pods", "execute/delete.go",
		`return metav1.DeletePropagationForeground`, `return metav1.DeletePropagationBackground`,
		"A workload that is deleted",
	},
	{
		"orphans keep our fields", "execute/orphan.go",
		`patch["managedFields"] = others`, `_ = others`,
		"A delete policy|An orphan that is rendered again",
	},
	{
		"orphans keep our label", "execute/orphan.go",
		`"labels": unmarkedKeys(live.GetLabels(), reconciler), `, "",
		"A delete policy|An orphan that is rendered again",
	},
}
