package main

// deciding are mutations of what is made of the API server's answers.
var deciding = []mutation{
	{
		"a conflict is a failure", "execute/execute.go",
		`if isConflict(err) {`, `if false && isConflict(err) {`,
		"An object that exists already|Two operators of the same name",
	},
	{
		"another UID is a failure", "execute/classify.go",
		` || isOtherUID(err)`, "",
		"An object that changes hands",
	},
	{
		"terminating is gone", "execute/write.go",
		`if obj == nil || obj.GetDeletionTimestamp() == nil {`, `if obj == nil || true {`,
		"Deleting a component",
	},
	{
		"not served is gone", "execute/definitions.go",
		`if source.defines(a, &list.Items[i]) {`, `if false {`,
		"A type of dependents|What is not there yet|Foreign instances",
	},
	{
		"not served has no instances", "execute/definitions.go",
		`return nil, c.confirmNeverServed(ctx, definition, err)`, `return nil, nil`,
		"Foreign instances of a type|A definition",
	},
	{
		"the watches get no answer", "execute/execute.go",
		`done(trackedAnswer(observed, a))`, `done(nil)`,
		"A dependent that somebody else changes",
	},
	{
		"a wrong path stays wrong", "discovery/renewal.go",
		"	m.Reset()\n", "	_ = m\n",
		"A type of dependents|A type in several versions",
	},
	{
		"what is refused is tried again at once", "execute/classify.go",
		`return s.Code >= http.StatusBadRequest && s.Code < http.StatusInternalServerError`, `return false`,
		"names a dependent that may not be deleted",
	},
	{
		"what is refused for its fields is tried again at once", "execute/classify.go",
		`return &plan.Failure{Class: plan.Terminal, Reason: reason, Message: invalid(s)}`, `return &plan.Failure{Class: plan.Transient, Reason: reason, Message: invalid(s)}`,
		"Changing the manifests of a component|Waves",
	},
	{
		"a Secret is quoted", "execute/classify.go",
		`f = redacted(f, err)`, `_, _ = redacted, err`,
		"A Secret that the API server refuses",
	},
}
