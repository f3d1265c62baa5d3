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
		`preconditions := map[string]any{"uid": string(a.Preconditions.UID)}`, `preconditions := map[string]any{}`,
		"An object that changes hands",
	},
	{
		"replace whatever is there", "execute/replace.go",
		"	if found.UID != a.Preconditions.UID || !sameOwner(found, a) {\n		return nil, staleConflict(a)\n	}\n	merged,", "	merged,",
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
		"previous managers keep their fields", "execute/managedfields.go",
		`case entry.Manager == reconciler, handover == plan.TransferAll:`, `case entry.Manager == reconciler:`,
		"An object that another tool made",
	},
	{
		"no migration to apply", "execute/write.go",
		"	if a.Migrate {\n", "	if false {\n",
		"A dependent whose update policy changes",
	},
	{
		"replace drops nothing", "execute/replace.go",
		`merge(live, a.Object.Body.Object, droppableFields(live, found, a, w.reconciler))`, `merge(live, a.Object.Body.Object, nil)`,
		"Changing the manifests of a component",
	},
	{
		"replace resets defaults", "execute/replace.go",
		`if manifests.SameContent(found.Digest, a.Object.Digest) {`, `if false {`,
		"A dependent that others have their part in under update policy replace",
	},
	{
		"replace records no fields", "execute/replace.go",
		`if err := recordUpdate(updated, a, w.reconciler); err != nil {`, `if err := error(nil); err != nil {`,
		"A dependent that others have their part in under update policy replace",
	},
	{
		"replace writes without need", "execute/replace.go",
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
		"delete without preconditions", "execute/write.go",
		"		Preconditions: &metav1.Preconditions{\n			UID: &a.Preconditions.UID, ResourceVersion: &a.Preconditions.ResourceVersion,\n		},\n", "",
		"An object that changes hands",
	},
	{
		"delete what others took over", "execute/write.go",
		`UID: &a.Preconditions.UID, ResourceVersion: &a.Preconditions.ResourceVersion,`, `UID: &a.Preconditions.UID,`,
		"An object that changes hands",
	},
	{
		"workloads leave their pods", "execute/write.go",
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
		"		\"labels\":      removedKeys(live.GetLabels(), reconciler),\n", "",
		"A delete policy|An orphan that is rendered again",
	},
}
