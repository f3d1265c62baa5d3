package main

// observing are mutations of the watches.
var observing = []mutation{
	{
		"own writes wake", "observe/writes.go",
		`if !e.isEchoOf(answer) {`, `if true {`,
		"A dependent that somebody else changes",
	},
	{
		"writes under way swallow events", "observe/writes.go",
		`if !e.isEchoOf(answer) {`, `if false {`,
		"A component under pressure|A dependent that somebody else changes",
	},
	{
		"nobody is enqueued", "observe/dependent_watch.go",
		"	case inFlight == nil:\n		w.observer.components.enqueue(e.owner)\n", "	case inFlight == nil:\n",
		"A dependent that somebody else changes",
	},
	{
		"unknown is absent", "observe/watch_index.go",
		`return &plan.Observed{Presence: plan.Unknown, Reason: w.reason, Message: w.message}`, `return &plan.Observed{Presence: plan.Absent}`,
		"A type that may not be watched",
	},
	{
		"watches never end", "observe/components.go",
		"		w.cancel()\n		o.dependents.remove(", "		o.dependents.remove(",
		"A type of dependents is not watched any more",
	},
	{
		"the former owner is not enqueued", "observe/dependent_watch.go",
		"	if old != nil && old.Owner != observed.Owner {\n		w.handle(", "	if false {\n		w.handle(",
		"An object that exists already",
	},
	{
		"old events count", "observe/dependent_watch.go",
		"	if old != nil && !inspect.Newer(observed.ResourceVersion, old.ResourceVersion) {\n		return\n	}\n", "",
		"A dependent that somebody else changes|Applying|A component under pressure",
	},
	{
		"deletions go unseen", "observe/dependent_watch.go",
		"	w.remove(key)\n	if object.Finished {", "	if object.Finished {",
		"A dependent that somebody else changes",
	},
	{
		"finished work is forgotten", "observe/dependent_watch.go",
		`if object.Finished {`, `if false {`,
		"A Job that goes when it is finished",
	},
	{
		"answers are not stored", "observe/writes.go",
		"	for _, watch := range watches {\n		watch.storeAnswer(key, *answer)\n	}\n", "",
		"Applying|Deleting a component|A dependent that somebody else changes",
	},
	{
		"a list that is refused counts as the last one", "observe/reflector_loop.go",
		`if f.definite || !p.listed {`, `if !p.listed {`,
		"A type of dependents|What is not there yet",
	},
	{
		"new definitions go unseen", "observe/definitions.go",
		"	for w := range d.unserved {\n		w.retryNow()\n	}\n", "",
		"may be a type for long",
	},
	{
		"the last foreign instance goes unseen", "observe/instance_watch.go",
		"	delete(w.objects, m.GetUID())\n	w.observer.components.enqueueAll(w.users)\n", "	delete(w.objects, m.GetUID())\n",
		"Foreign instances of a type",
	},
	{
		"unknown instances are none", "observe/instance_watch.go",
		`return found, w.reason, w.message`, `return nil, "", ""`,
		"Foreign instances of a type|An aggregated API",
	},
	{
		"references enqueue nobody", "observe/reference_watch.go",
		"	w.put(name, object)\n	w.enqueue(name)\n", "	w.put(name, object)\n",
		"The inputs of a component",
	},
}
