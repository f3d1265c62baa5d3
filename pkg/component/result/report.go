package result

import metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

// The reasons of reports that callers tell apart. A status may contain more reasons; package plan defines
// all of them.
const (
	// ReportRepairConflict: another client reverts the repairs of the dependent.
	ReportRepairConflict = "RepairConflict"
	// ReportDependency: the dependent is held up by a dependency, because an object of its setting depends-on is not
	// applied, or not ready.
	ReportDependency = "DependencyNotReady"
	// ReportExport: the dependent waits for a value that another dependent exports.
	ReportExport = "ExportMissing"
	// ReportUndecided: the condition include-when or active-when of the dependent has no value.
	ReportUndecided = "ConditionUndecided"
	// ReportExcluded: the object is left out because its condition include-when is false.
	ReportExcluded = "Excluded"
	// ReportInactive: the object is neither applied nor deleted because its condition active-when is false.
	ReportInactive = "Inactive"
	// ReportComponentNotReady: the component waits for another component that it depends on.
	ReportComponentNotReady = "ComponentNotReady"
	// ReportDependedOn: the deletion of the component waits for another component that depends on it.
	ReportDependedOn = metav1alpha1.ReasonDependedOn
	// ReportCreateUncertain: the result of the creation of an external is not known, and only a person can find it out.
	ReportCreateUncertain = metav1alpha1.ReasonCreateUncertain
	// ReportStateDamaged: the recorded state of an external cannot be used, and only a person can mend it.
	ReportStateDamaged = "StateDamaged"
)

// IsHoldUp reports whether a report is on a dependent that is not applied yet because of a dependency, a condition or
// an exported value. The message of the report says which, and the state or the value that was seen. It contains no
// values of Secrets.
func IsHoldUp(report metav1alpha1.DependentReport) bool {
	switch report.Reason {
	case ReportDependency, ReportExport, ReportUndecided:
		return true
	}
	return false
}
