package main

// observing are mutations of the watches.
var observing = []mutation{
	{
		"own writes start passes", "observe/writes.go",
		`if !e.isEchoOf(answer) {`, `if true {`,
		"Drift of dependents",
	},
	{
		"events during a write are ignored", "observe/writes.go",
		`if !e.isEchoOf(answer) {`, `if false {`,
		"Components under load|Drift of dependents",
	},
	{
		"no component is enqueued", "observe/dependent_watch.go",
		"	case inFlight == nil:\n		w.observer.components.enqueue(e.owner)\n", "	case inFlight == nil:\n",
		"Drift of dependents",
	},
	{
		"an unknown object counts as absent",
		"observe/watch_index.go",
		`return &plan.Observed{Presence: plan.Unknown, Reason: w.reason, Message: w.message}`,
		`return &plan.Observed{Presence: plan.Absent}`,
		"Types that the operator is not allowed to watch",
	},
	{
		"watches never end", "observe/components.go",
		"		w.cancel()\n		o.dependents.remove(", "		o.dependents.remove(",
		"the watch on a type ends when its last dependent is deleted",
	},
	{
		"the previous owner is not enqueued", "observe/dependent_watch.go",
		"	if old != nil && old.Owner != observed.Owner {\n		w.handle(", "	if false {\n		w.handle(",
		"Objects that exist before they are applied",
	},
	{
		"old events are not ignored", "observe/dependent_watch.go",
		"	if old != nil && !inspect.Newer(observed.ResourceVersion, old.ResourceVersion) {\n		return\n	}\n", "",
		"Drift of dependents|Applying a component|Components under load",
	},
	{
		"deletions are ignored", "observe/dependent_watch.go",
		"	w.remove(key)\n	if object.Finished {", "	if object.Finished {",
		"Drift of dependents",
	},
	{
		"finished objects are forgotten", "observe/dependent_watch.go",
		`if object.Finished {`, `if false {`,
		"Jobs that are removed after they finish",
	},
	{
		"responses are not stored", "observe/writes.go",
		"			watch.storeAnswer(key, *answer, w.body)\n", "",
		"Applying a component|Deletions of components|Drift of dependents",
	},
	{
		"a refused list keeps the result of the previous list", "observe/reflector_loop.go",
		`if f.definite || !p.listed {`, `if !p.listed {`,
		"Watches on types of dependents|Temporary obstacles",
	},
	{
		"new definitions are ignored", "observe/definitions.go",
		"	for w := range d.unserved {\n		w.retryNow()\n	}\n", "",
		"a type that is not served for a long time",
	},
	{
		"the deletion of the last foreign instance is ignored",
		"observe/instance_watch.go",
		"	delete(w.objects, m.GetUID())\n	w.observer.components.enqueueAll(w.users)\n",
		"	delete(w.objects, m.GetUID())\n",
		"Foreign instances of a type",
	},
	{
		"unknown instances count as none", "observe/instance_watch.go",
		`return found, w.reason, w.message`, `return nil, "", ""`,
		"Foreign instances of a type|Aggregated APIs",
	},
	{
		"a changed reference enqueues no component", "observe/reference_watch.go",
		"	w.put(name, object)\n	w.enqueue(name)\n", "	w.put(name, object)\n",
		"Inputs of a component",
	},
	{
		"large numbers in the specs of externals are rounded", "externals/recorded.go",
		`utiljson "k8s.io/apimachinery/pkg/util/json"`, `utiljson "encoding/json"`,
		"a number that a double cannot represent",
	},
	{
		"an observation that is due earlier than planned is not made earlier", "externals/polls.go",
		`scheduled && !at.Before(known)`, `scheduled`,
		"a request for a pass and a call of Trigger observe an external at once",
	},
	{
		"externals are observed once an hour", "externals/polls.go",
		`p.queue.Set(it, at)`, `p.queue.Set(it, at.Add(time.Hour))`,
		"an external is created, updated, repaired, pruned and deleted with its component",
	},
	{
		"one observation of externals is made", "externals/polls.go",
		"		p.observe(it)\n", "		p.observe(it)\n		return\n",
		"a drift that others make again and again is repaired with back-off",
	},
	{
		"an observation that is set does not end the pause", "externals/polls.go",
		"	case <-p.changed:\n", "",
		"an external is created, updated, repaired, pruned and deleted with its component",
	},
	{
		"externals are observed without a pause", "externals/component.go",
		`backoff.Around(t.interval, 0.05)`, `backoff.Around(t.interval/1_000_000, 0.05)`,
		"a request for a pass and a call of Trigger observe an external at once",
	},
	{
		"the interval that an answer asks for is ignored", "externals/answers.go",
		`	if interval <= 0 {`, `	if interval = 0; interval <= 0 {`,
		"PollAfter delays the next poll of an external, until its spec changes",
	},
	{
		"each external that exists is ready", "externals/facts.go",
		`	case o.answer.Ready:`, `	case true, o.answer.Ready:`,
		"an external is ready as its Readier and ready-when say, and dependents wait for it",
	},
	{
		"the difference that an answer names is not seen", "externals/situation.go",
		`	if o.unverified || o.answer == nil {`, `	if true || o.unverified {`,
		"an update without effect is a conflict that names the difference",
	},
	{
		"owner labels of any client count", "inspect/ownermarks.go",
		`if id != "" && replacedBy(obj, reconciler, id) != "" {`, `if false {`,
		"Owner marks of a dependent that another client writes",
	},
	{
		"owner labels of no other reconciler count", "inspect/ownermarks.go",
		`case isWriter(e.Manager, metadata, label, reconciler):`,
		`case isWriter(e.Manager, metadata, label, reconciler) && false:`,
		"if another owner takes over a dependent",
	},
	{
		"a looked-up copy of a dependent is a dependent", "observe/versions.go",
		`if inspect.IsCopyElsewhere(m, reconciler) {`, `if inspect.IsCopyElsewhere(m, reconciler) && false {`,
		"a looked-up copy that somebody made of a dependent",
	},
}
