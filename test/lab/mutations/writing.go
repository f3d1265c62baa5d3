package main

// writing are mutations of the writes to the API server.
var writing = []mutation{
	{
		"a create adopts an existing object", "execute/write.go",
		`map[string]any{"resourceVersion": "1"}`, `map[string]any{}`,
		"Objects that exist before they are applied|Two operators of the same name",
	},
	{
		"an apply ignores the UID", "execute/write.go",
		`preconditions := map[string]any{"uid": string(a.Preconditions.UID)}`, `preconditions := map[string]any{}`,
		"Objects whose owner changes right before a write",
	},
	{
		"a replace ignores UID and owner",
		"execute/replace.go",
		`found.UID != a.Preconditions.UID || !sameOwner(found, a) || isMarkedSince(found, a)`,
		`isMarkedSince(found, a)`,
		"Objects whose owner changes right before a write",
	},
	{
		"an adoption ignores the resource version", "execute/write.go",
		`preconditions["resourceVersion"] = version`, `_ = version`,
		"an object that another owner took over in the meantime is not adopted",
	},
	{
		"apply without force", "execute/write.go",
		`Force: new(true)`, `Force: new(false)`,
		"Drift of dependents",
	},
	{
		"previous managers keep their fields", "execute/managedfields.go",
		`case entry.Manager == reconciler, handover == plan.TransferAll, handover`, `case entry.Manager == reconciler, handover`,
		"Objects of other tools",
	},
	{
		"managed fields are not migrated to Apply", "execute/write.go",
		"	if a.Migrate {\n", "	if false {\n",
		"Changes of the update policy",
	},
	{
		"a replace removes no fields",
		"execute/replace.go",
		`withCopies(a, droppableFields(live, found, a, w.reconciler),`,
		`withCopies(a, map[string]any{},`,
		"Changes of the manifests",
	},
	{
		"a replace resets defaults", "execute/replace.go",
		`if digests.SameContent(found.Digest, a.Object.Digest) {`, `if false {`,
		"Dependents with fields of other managers: update policy replace",
	},
	{
		"a replace records no managed fields", "execute/replace.go",
		`if err := rewriteUpdate(updated, a, w.reconciler); err != nil {`, `if err := error(nil); err != nil {`,
		"Dependents with fields of other managers: update policy replace",
	},
	{
		"a replace writes without a change", "execute/replace.go",
		`if !changed && found.Coverage == plan.CoverageFull && !a.Forced {`, `if _ = changed; false {`,
		"Dependents with fields of other managers: update policy replace",
	},
	{
		"list items of others are lost", "execute/merge.go",
		"	keepOthers(len(live))\n", "",
		"Changes of the manifests",
	},
	{
		"atomic values are merged", "execute/merge.go",
		`if l, ok := live.(map[string]any); ok && !n.atomic() {`, `if l, ok := live.(map[string]any); ok {`,
		"Changes of the manifests|Drift of dependents",
	},
	{
		"a delete has no preconditions",
		"execute/write.go",
		"		Preconditions: &metav1.Preconditions{\n" +
			"			UID: &a.Preconditions.UID, ResourceVersion: &a.Preconditions.ResourceVersion,\n		},\n",
		"",
		"Objects whose owner changes right before a write",
	},
	{
		"a delete ignores the resource version", "execute/write.go",
		`UID: &a.Preconditions.UID, ResourceVersion: &a.Preconditions.ResourceVersion,`, `UID: &a.Preconditions.UID,`,
		"Objects whose owner changes right before a write",
	},
	{
		"workloads are deleted in the background", "execute/write.go",
		`return metav1.DeletePropagationForeground`, `return metav1.DeletePropagationBackground`,
		"The deletion of workloads",
	},
	{
		"orphans keep our fields", "execute/orphan.go",
		`patch["managedFields"] = others`, `_ = others`,
		"Delete policies|Orphans that are rendered again",
	},
	{
		"orphans keep our label", "execute/orphan.go",
		"		\"labels\":      removedKeys(live.GetLabels(), reconciler),\n", "",
		"Delete policies|Orphans that are rendered again",
	},
	{
		"a call outside Kubernetes is made whenever the process wakes", "externals/takeover.go",
		`	if w.width <= 0 {`, `	if w.width >= 0 {`,
		"Operators that are paused with externals",
	},
	{
		"the inventory has no token of a create", "plan/external.go",
		`inv[key], changed = e, true`,
		`changed = true`,
		"no external is lost, doubled or taken from others if the operator was killed before the damage FindableThing, while a second create is uncertain",
	},
	{
		"a create whose state is lost is not waited for", "externals/takeover.go",
		`case r.isLost() && r.isCreationRecorded() && !r.knowsLostCreation():`,
		`case false:`,
		"a create that takes effect after the operator was killed and its state was damaged is not made again",
	},
	{
		"answers within the settle time count", "externals/takeover.go",
		`	return last.Add(info.Settle)`, `	return last`,
		"answers within the settle time after a create count for nothing",
	},
	{
		"one answer proves that an external does not exist", "externals/answers.go",
		`	case !written, settle <= 0:`, `	case true, !written, settle <= 0:`,
		"answers that an external does not exist, within the settle time, and stale ones",
	},
	{
		"an external that a list lacks does not exist", "externals/calls.go",
		`		case err != nil || found:`, `		case !found && err == nil:
			it.component.change(it, func(t *step) { asked.answered(t, answer, external.ErrNotFound) })
		case err != nil || found:`,
		"answers that an external does not exist, within the settle time, and stale ones",
	},
	{
		"an external with the token of another owner is adopted", "externals/facts.go",
		`if foreign := s.observed.answer.Token; foreign != "" &&`, `if foreign := s.observed.answer.Token; false &&`,
		"an external with the token of another owner is not adopted",
	},
	{
		"another external is created if the named one does not exist", "externals/facts.go",
		`	case w.externalID() != "" && f.of.recorded.state == nil:`, `	case false:`,
		"an id that does not exist is an error, and nothing is created",
	},
	{
		"an external that its kind cannot delete is deleted", "externals/facts.go",
		`NotDeletable: !w.info().Deletes}`, `NotDeletable: false}`,
		"an external of a kind without Deleter is left, and an event names its id",
	},
	{
		"a change that cannot be made is tried again and again", "externals/facts.go",
		`		o.External.Immutable = s.observed.immutable`, `		_ = s.observed.immutable`,
		"are an error that names the field",
	},
	{
		"a take-over leaves the marks of another tool", "execute/toolmarks.go",
		`if !a.Reason.Adopts() || a.Object == nil {`, `if true || a.Object == nil {`,
		"Objects that another tool claims",
	},
	{
		"a list of objects to adopt is not complete", "plan/adoptions.go",
		`case c.adoptions.complete && c.entry.UID == "" && !providedByKubernetes(c.object.Key):`, `case false:`,
		"Objects that another tool claims",
	},
	{
		"an object counts as a dependent because of its owner label alone", "inventory/join.go",
		`if r, ok := known[plan.KeyOf(e)]; ok && (restored || r.UID == e.UID) {`, `if true {`,
		"Records of dependents that another client changed",
	},
	{
		"a field that the manifest excludes stays", "execute/write.go",
		`case mayExclude(a, err):`, `case false && mayExclude(a, err):`,
		"Fields that exclude each other",
	},
	{
		"a replace keeps a field that the manifest excludes", "execute/replace.go",
		`if !mayExclude(a, refused) {`, `if true || !mayExclude(a, refused) {`,
		"Fields that exclude each other",
	},
	{
		"an excluded field of a server-side apply is dropped", "execute/oneof.go",
		`case updates && b.Injectable(theirs):`, `case !updates || b.Injectable(theirs):`,
		"Fields that exclude each other",
	},
	{
		"an excluded field of any update is dropped", "execute/oneof.go",
		`case updates && b.Injectable(theirs):`, `case updates:`,
		"Fields that exclude each other",
	},
	{
		"excluded certificates of an API are dropped", "execute/oneof.go",
		`if len(managers) > 0 || b.Kept {`, `if len(managers) > 0 && !b.Kept {`,
		"Fields that exclude each other",
	},
	{
		"an excluded field does not become ours", "execute/oneof.go",
		`		ours.Insert(b.Path)
`, `		_ = b
`,
		"Fields that exclude each other",
	},
	{
		"a preview refuses what the operator mends", "execute/oneof.go",
		`case err != nil || w.dryRun:`, `case w.dryRun:
		return nil, refused
	case err != nil:`,
		"Fields that exclude each other",
	},
	{
		"each refusal reads the object", "serverrules/oneof.go",
		`return overlap(withoutIndexes(field), rule.at)`, `return field != "none"`,
		"Fields that exclude each other",
	},
	{
		"the copy of a removed field stays", "execute/managedfields.go",
		`ours, err = takeCopies(a, ours, rest)`, `_, err = takeCopies(a, ours, rest)`,
		"Copies that the API server keeps",
	},
	{
		"a replace leaves the copy of a removed field", "execute/copies.go",
		`	if ours, err = takeCopies(a, ours, others); err != nil {`, `	if _, err = takeCopies(a, ours, others); err != nil {`,
		"Copies that the API server keeps",
	},
	{
		"a change of a deprecated account is ignored", "execute/copies.go",
		`serverrules.Complete(a.Key.GroupKind(), a.Object.Body.Object)`, `a.Object.Body.Object`,
		"Copies that the API server keeps",
	},
	{
		"null is sent", "execute/copies.go",
		`return serverrules.WithoutNulls(a.Object.Body.GroupVersionKind(), complete)`, `return complete`,
		"Fields that exclude each other",
	},
	{
		"each update of a field with a copy rewrites managed fields", "serverrules/copies.go",
		`if field == strings.Join(c.field, ".") && c.dropped(manifest) {`, `if field == strings.Join(c.field, ".") {`,
		"Copies that the API server keeps",
	},
	{
		"copies of others are taken", "serverrules/copies.go",
		` || !(Branch{Path: theirs}).Below(others).Empty() {`, ` {`,
		"Copies that the API server keeps",
	},
	{
		"directions of a NetworkPolicy that others set are taken", "serverrules/copies.go",
		`if !sets(manifest, d.field) && (Branch{Path: field}).Below(others).Empty() {`, `if !sets(manifest, d.field) {`,
		"Copies that the API server keeps",
	},
	{
		"a NetworkPolicy is watched without its directions", "inspect/readiness.go",
		`return v.Analyzers[gk] != nil || serverrules.MayDrop(gk)`, `return v.Analyzers[gk] != nil`,
		"Copies that the API server keeps",
	},
	{
		"a release leaves no mark", "execute/orphan.go",
		`annotations[reconciler+"/"+marks.AnnotationReleasedBy] = name`, `_ = name`,
		"an object that a component released comes back without an entry",
	},
	{
		"an adoption leaves the mark of the release", "execute/toolmarks.go",
		`removed.Annotations = append(removed.Annotations, key)`, `_ = key`,
		"a released object that another component adopts loses the mark of its release",
	},
	{
		"an adoption ignores marks that came after its plan", "execute/toolmarks.go",
		`return mark.By != "" && mark.By != a.AdoptedFrom`, `return false`,
		"an object that another tool marked in the meantime is not adopted",
	},
}
