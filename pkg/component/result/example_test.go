package result_test

import (
	"fmt"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// This example finds the dependents that wait for a dependency, a condition or an exported value.
func ExampleIsHoldUp() {
	status := &metav1alpha1.Status{Waiting: []metav1alpha1.DependentReport{
		{
			Dependent: "ConfigMap shop/web", Reason: result.ReportExport,
			Message: "it waits for export dbHost of Service shop/db",
		},
		{Dependent: "Service shop/db", Reason: "Absent", Message: "it does not exist"},
	}}
	for _, report := range status.Waiting {
		fmt.Println(report.Dependent, result.IsHoldUp(report))
	}
	// Output:
	// ConfigMap shop/web true
	// Service shop/db false
}
