package main

// informing are mutations of the event sources, and of the inventories of idle components.
var informing = []mutation{
	{
		"equal parts of related objects wake components", "sources/compare.go",
		`case after.partErr == nil && before.compared.digest == after.digest:`,
		`case false:`,
		"a hook and a generator see related objects",
	},
	{
		"filters of created objects are ignored", "sources/compare.go",
		`case before == nil && c.passes(c.convert.options.Added, after):`,
		`case before == nil && true:`,
		"a field selector and filters of created and deleted objects",
	},
	{
		"a hook's own write wakes its component", "sources/informer.go",
		`case !i.index.users[name] || !i.watch.synced || name == writer:`,
		`case !i.index.users[name] || !i.watch.synced:`,
		"a write of a hook wakes other components that share the object",
	},
	{
		"watches without users never end", "sources/related.go",
		"\t\tdelete(r.informers, i.reader.cluster.Key)\n\t\ti.stop()\n",
		"\t\tdelete(r.informers, i.reader.cluster.Key)\n",
		"watches in other clusters come with components",
	},
	{
		"sources never forget a component", "sources/set.go",
		"\tfor _, r := range s.all() {\n\t\tr.Forget(name)\n\t}\n",
		"",
		"watches in other clusters come with components",
	},
	{
		"the first pass does not wait for values", "sources/set.go",
		`waits = waits || r.State(name).Waits`,
		`_ = r.State(name)`,
		"the first pass waits for the first value",
	},
	{
		"a removed source wakes nobody", "sources/set.go",
		`if s.run.Err() == nil && (r.use.Input || `,
		`if s.run.Err() == nil && (false && r.use.Input || `,
		"sources are added and removed at run time",
	},
	{
		"bodies of related objects are never dropped", "sources/reads.go",
		`if o.body != nil && now.Sub(o.touched) > r.options.Idle {`,
		`if o.body != nil && now.Before(o.touched.Add(-r.options.Idle)) {`,
		"an object that was not touched for long",
	},
	{
		"a received value wakes nobody", "sources/mailbox.go",
		"\tcase news:\n\t\tm.wakeOne(name)\n",
		"",
		"a webhook that is signed wakes its component",
	},
	{
		"inventories of idle components are never dropped", "components/idle.go",
		`if now.Sub(known.touched) > i.idle {`,
		`if now.Before(known.touched.Add(-i.idle)) {`,
		"the inventory of a component without passes leaves the memory",
	},
	{
		"an inventory that was read is not kept", "components/idle.go",
		"\t\ti.put(component.GetUID(), status.InventoryDigest, slices.Clone(status.Inventory))\n",
		"\t\t_ = slices.Clone(status.Inventory)\n",
		"the inventory of a component without passes leaves the memory",
	},
}
