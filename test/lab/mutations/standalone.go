package main

// standalone are mutations of the standalone use of an engine.
var standalone = []mutation{
	{
		"a process overwrites the record of another", "records/inventories.go",
		"		secret = before.secret.DeepCopy()\n", "		secret = before.secret.DeepCopy()\n		secret.SetResourceVersion(\"\")\n",
		"engine.Standalone: of two processes at once",
	},
	{
		"a process creates without a look at its record", "../engine/record.go",
		`return r.inventories.Confirm(ctx, r.owner, r.stored)`, `return nil`,
		"engine.Standalone: of two processes at once",
	},
	{
		"a lost record is an empty one", "../engine/record.go",
		`if lost == nil && (r.stored.Exists() || l.isNew) {`, `if lost == nil {`,
		"engine.Standalone: rebuilds a deleted record|engine.Standalone: deletes dependents whose record was lost",
	},
	{
		"a pass continues with a rebuilt record in silence", "../engine/record.go",
		"	cause := \"it did not exist\"\n", "	cause := \"it did not exist\"\n	if lost == nil {\n		return nil\n	}\n",
		"engine.Standalone: rebuilds a deleted record",
	},
	{
		"an edited record is believed", "records/inventories.go",
		`if err == nil && !intact {`, `if false {`,
		"engine.Standalone: rebuilds an edited record",
	},
	{
		"a Secret of somebody else is a record", "records/inventories.go",
		`if !intact && !i.wrote(secret) {`, `if false {`,
		"engine.Standalone: does not touch a Secret of somebody else",
	},
	{
		"dependents are written before the finalizer", "../engine/reconcile.go",
		"	if state.isNew {\n", "	if false {\n",
		"engine.Standalone: writes the finalizer first",
	},
	{
		"the finalizer disappears before the dependents", "../engine/reconcile.go",
		"	if err != nil || !outcome.Done() || len(outcome.Inventory) > 0 {\n", "	if err != nil {\n",
		"engine.Standalone: keeps the finalizer until the last dependent no longer exists",
	},
	{
		"finalizers of other controllers do not count", "../engine/reconcile.go",
		`if len(others) > 0 {`, `if false {`,
		"engine.Standalone: leaves the dependents alone",
	},
	{
		"the record of an existing object is deleted", "../engine/reconcile.go",
		`err != nil || exists {`, `err != nil || exists && false {`,
		"engine.Standalone: forgets an object",
	},
}
