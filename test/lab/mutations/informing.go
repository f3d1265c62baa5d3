package main

// informing are mutations of the event sources, and of the inventories of idle components.
var informing = []mutation{
	{
		"equal parts of related objects wake components", "related/compare.go",
		`case after.partErr == nil && before.compared.digest == after.digest:`,
		`case false:`,
		"a hook and a generator see related objects",
	},
	{
		"filters of created objects are ignored", "related/compare.go",
		`case before == nil && c.passes(c.convert.options.Added, after):`,
		`case before == nil && true:`,
		"a field selector and filters of created and deleted objects",
	},
	{
		"a hook's own write wakes its component", "related/versions.go",
		`case !v.index.users[name] || !v.synced || name == c.writer:`,
		`case !v.index.users[name] || !v.synced:`,
		"a write of a hook wakes other components that share the object",
	},
	{
		"watches without users never end", "related/users.go",
		"\t\tdelete(s.informers, i.reader.cluster.Key)\n\t\ti.stop()\n",
		"\t\tdelete(s.informers, i.reader.cluster.Key)\n",
		"watches in other clusters come with components",
	},
	{
		"event sources never forget a component", "eventsources/set.go",
		"\tfor _, r := range s.all() {\n\t\tr.Forget(name)\n\t}\n",
		"",
		"watches in other clusters come with components",
	},
	{
		"the first pass does not wait for values", "eventsources/set.go",
		`waits = waits || r.State(name).Waits`,
		`_ = r.State(name)`,
		"the first pass waits for the first value",
	},
	{
		"a removed event source wakes nobody", "eventsources/set.go",
		`if s.run.Err() == nil && (r.use.Input || `,
		`if s.run.Err() == nil && (false && r.use.Input || `,
		"sources are added and removed at run time",
	},
	{
		"bodies of related objects are never dropped", "related/store.go",
		`if o.body != nil && now.Sub(o.touched) > s.versions.options.Idle {`,
		`if o.body != nil && now.Before(o.touched.Add(-s.versions.options.Idle)) {`,
		"an object that was not touched for long",
	},
	{
		"a received value wakes nobody", "polled/mailbox.go",
		"\tcase news:\n\t\tm.wakeOne(name)\n",
		"",
		"a webhook that is signed wakes its component",
	},
	{
		"equal values of a poll wake components", "polled/poll.go",
		`case digestIn(p.values, name) != digestIn(fetched, name):`,
		`case true:`,
		"a polled value is an input",
	},
	{
		"a failed fetch drops the last value", "polled/poll.go",
		"\tif err != nil {\n\t\tif p.all.fail(err, time.Now()) {",
		"\tif err != nil {\n\t\tp.values = nil\n\t\tif p.all.fail(err, time.Now()) {",
		"a polled value is an input",
	},
	{
		"calls with a wrong signature are accepted", "polled/webhook.go",
		`if len(secret) == 0 || !hmac.Equal(signature, mac.Sum(nil)) {`,
		`if len(secret) == 0 {`,
		"a webhook that is signed wakes its component",
	},
	{
		"a fetched value is asked for once only", "polled/due_values.go",
		`if result.after > 0 {`,
		`if false {`,
		"a webhook that is signed wakes its component, and nothing is fetched",
	},
	{
		"an object does not name its components", "related/relation_index.go",
		`related.add(o.components)`,
		`_ = o.components`,
		"owner references, annotations and labels of an object",
	},
	{
		"an object that was read to compare it is not kept", "related/versions.go",
		`if found != resultEqual || stored.compared.bodyWasKept {`,
		`if false && (found != resultEqual || stored.compared.bodyWasKept) {`,
		"an equal part of an object that is not kept costs one read",
	},
	{
		"an object of a namespace that is not watched is no failure", "related/watch.go",
		`case slices.Contains(w.namespaces, key.Namespace):`,
		`case slices.Contains(w.namespaces, key.Namespace) || true:`,
		"an object in a namespace that the operator does not watch is an error",
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
