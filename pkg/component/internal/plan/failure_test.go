package plan

import "testing"

func TestWhichFailuresArePropertiesOfTheObject(t *testing.T) {
	for _, c := range []struct {
		name string
		Failure
		inherent, invalid bool
	}{
		{"an invalid manifest", Failure{Class: Terminal, Reason: WaitInvalid}, true, true},
		{"an immutable field", Failure{Class: Terminal, Reason: WaitImmutable}, true, true},
		{"a manifest that cannot be decoded", Failure{Class: Terminal, Reason: "BadRequest"}, true, true},
		{"a manifest that is too large", Failure{Class: Terminal, Reason: WaitTooLarge}, true, false},
		{"an object of somebody else", Failure{Class: Terminal, Reason: WaitOwnershipConflict}, true, false},
		{"a refusal by a webhook", Failure{Class: Terminal, Reason: WaitInvalid, Cause: CauseAdmission}, false, false},
		{
			"a node port of another Service",
			Failure{Class: Terminal, Reason: WaitInvalid, Cause: CauseAllocated},
			false, false,
		},
		{
			"a webhook without dry runs",
			Failure{Class: Terminal, Reason: "BadRequest", Cause: CauseDryRunUnsupported},
			false, false,
		},
		{"a missing right", Failure{Class: Terminal, Reason: WaitForbidden, Cause: CauseMissingRight}, false, false},
		{"an exceeded quota", Failure{Class: Terminal, Reason: WaitForbidden}, false, false},
		{"a missing namespace", Failure{Class: Transient, Reason: WaitNamespaceMissing}, false, false},
		{"a missing object", Failure{Class: Transient, Reason: WaitNotFound}, false, false},
		{"a type that is not served", Failure{Class: Transient, Reason: WaitNotServed}, false, false},
		{"an overload", Failure{Class: Transient, Reason: "TooManyRequests"}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.Inherent() != c.inherent || c.IsInvalid() != c.invalid {
				t.Errorf("got %t, %t", c.Inherent(), c.IsInvalid())
			}
		})
	}
}
