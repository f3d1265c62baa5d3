package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/operator"
)

// quotaOptions are the flags for quotas of namespaces.
type quotaOptions struct {
	annotations bool
	defaults    operator.Quotas
}

// bind binds the flags to the options.
func (q *quotaOptions) bind(flags *flag.FlagSet) {
	flags.BoolVar(&q.annotations, "namespace-quotas", false,
		"enforce the quotas in the annotations of namespaces: "+operator.AnnotationMaxDependents+",\n"+
			"a number, for all components of the namespace together, and "+operator.AnnotationMaxSourceBytes+",\n"+
			"a quantity, for each component; the operator then watches the metadata of namespaces")
	flags.Int64Var(&q.defaults.Dependents, "max-dependents-per-namespace", 0,
		"maximum number of dependents of all components in a namespace without the annotation; above 0 it implies\n"+
			"--namespace-quotas; 0 sets no maximum")
	flags.Int64Var(&q.defaults.SourceBytes, "max-source-bytes", 0,
		"maximum size of the uncompressed source of each component in a namespace without the annotation; above 0 it\n"+
			"implies --namespace-quotas; 0 sets no maximum")
}

// validate checks the flags.
func (q quotaOptions) validate() error {
	var errs []error
	if q.defaults.Dependents < 0 {
		errs = append(errs, fmt.Errorf("--max-dependents-per-namespace=%d: want 0 or more", q.defaults.Dependents))
	}
	if q.defaults.SourceBytes < 0 {
		errs = append(errs, fmt.Errorf("--max-source-bytes=%d: want 0 or more", q.defaults.SourceBytes))
	}
	return errors.Join(errs...)
}

// forOperator returns the quotas of the operator, or nil if it enforces none.
func (q quotaOptions) forOperator() *operator.Quotas {
	if !q.annotations && q.defaults == (operator.Quotas{}) {
		return nil
	}
	defaults := q.defaults
	return &defaults
}
