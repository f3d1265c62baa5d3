package expression

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The variables of the conditions include-when and active-when.
const (
	// VariableComponent is a map with the namespace and the name under which the component is deployed.
	VariableComponent = "component"
	// VariableExports are the values that other objects of the component export, by name.
	VariableExports = "exports"
	// VariableParameters are the parameters of the component.
	VariableParameters = "parameters"
)

// IncludeScope returns the scope of the condition include-when.
func IncludeScope() Scope {
	return Scope{
		Variables: []string{VariableComponent, VariableExports, VariableParameters}, ByName: VariableExports,
	}
}

// ActiveScope returns the scope of the condition active-when. served reports whether the API server serves a type.
func ActiveScope(served func(schema.GroupKind) (bool, error)) Scope {
	scope := IncludeScope()
	scope.Served = func(kind string) (bool, error) {
		gk := schema.ParseGroupKind(kind)
		if gk.Kind == "" {
			return false, fmt.Errorf("served(%q): a kind is expected, such as ServiceMonitor.monitoring.coreos.com", kind)
		}
		return served(gk)
	}
	return scope
}
