package main

// observing are mutations of the watches.
var observing = []mutation{
	{
		"own writes wake", "observe/writes.go",
		`if !event.echoes(answer) {`, `if true {`,
		"A dependent that somebody else changes",
	},
	{
		"writes under way swallow events", "observe/writes.go",
		`if !event.echoes(answer) {`, `if false {`,
		"A component under pressure|A dependent that somebody else changes",
	},
	{
		"nobody is woken", "observe/writes.go",
		"	case w == nil:\n		k.observer.wake(e.owner)\n", "	case w == nil:\n",
		"A dependent that somebody else changes",
	},
	{
		"unknown is absent", "observe/observer.go",
		`return plan.Observed{Presence: plan.Unknown, Reason: k.reason, Message: k.message}`, `return plan.Observed{Presence: plan.Absent}`,
		"A type that may not be watched",
	},
	{
		"watches never end", "observe/owners.go",
		"		k.cancel()\n		o.kinds.drop(viewer.Name, p)\n", "		o.kinds.drop(viewer.Name, p)\n",
		"A type of dependents is not watched any more",
	},
	{
		"the owner before is not told", "observe/store.go",
		"	if old != nil && old.Owner != o.Owner {\n		k.event(", "	if false {\n		k.event(",
		"An object that exists already",
	},
	{
		"old events count", "observe/store.go",
		"	if old != nil && !inspect.Newer(o.ResourceVersion, old.ResourceVersion) {\n		return\n	}\n", "",
		"A dependent that somebody else changes|Applying|A component under pressure",
	},
	{
		"deletions go unseen", "observe/store.go",
		"		k.drop(key)\n		if s.Finished {", "		if s.Finished {",
		"A dependent that somebody else changes",
	},
	{
		"finished work is forgotten", "observe/store.go",
		`if s.Finished {`, `if false {`,
		"A Job that goes when it is finished",
	},
	{
		"answers are not learned", "observe/writes.go",
		"	for _, k := range seeing {\n		k.learn(key, *answer)\n	}\n", "",
		"Applying|Deleting a component|A dependent that somebody else changes",
	},
	{
		"a list that is refused counts as the last one", "observe/loop.go",
		`if f.definite || !p.list {`, `if !p.list {`,
		"A type of dependents|What is not there yet",
	},
	{
		"new definitions go unseen", "observe/definitions.go",
		"	for w := range o.unserved {\n		w.retry()\n	}\n", "",
		"may be a type for long",
	},
	{
		"the last foreign instance goes unseen", "observe/instances.go",
		"	delete(t.objects, m.GetUID())\n	t.observer.wakeAll(t.users)\n", "	delete(t.objects, m.GetUID())\n",
		"Foreign instances of a type",
	},
	{
		"unknown instances are none", "observe/instances.go",
		`return found, t.reason, t.message`, `return nil, "", ""`,
		"Foreign instances of a type|An aggregated API",
	},
	{
		"references wake nobody", "observe/referenced.go",
		"	w.put(name, seen)\n	w.wake(name)\n", "	w.put(name, seen)\n",
		"The inputs of a component",
	},
}
