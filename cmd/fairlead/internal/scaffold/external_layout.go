package scaffold

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

// externalLayout returns the files of the package that handles dependents outside Kubernetes.
func externalLayout() []entry {
	return []entry{
		{"internal/externals/handler.go", "externals/handler.go.tmpl"},
		{"internal/externals/handler_test.go", "externals/handler_test.go.tmpl"},
		{"internal/externals/system.go", "externals/system.go.tmpl"},
	}
}

func (o Options) validateExternal() []error {
	if o.External == "" || kindName.MatchString(o.External) && len(o.External) <= validation.DNS1035LabelMaxLength {
		return nil
	}
	return []error{fmt.Errorf("--external %q: want a word in camel case that begins with a capital letter, such as "+
		"Bucket, of at most 63 letters and digits", o.External)}
}
