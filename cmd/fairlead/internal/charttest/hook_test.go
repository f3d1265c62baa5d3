package charttest

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestOutcomeOfATest(t *testing.T) {
	for _, c := range []struct {
		name, object, want, message string
	}{
		{"a new Pod", "{kind: Pod}", "", ""},
		{"a running Pod", "{kind: Pod, status: {phase: Running}}", "", ""},
		{"a Pod that succeeded", "{kind: Pod, status: {phase: Succeeded}}", "succeeded", ""},
		{"a Pod that failed", "{kind: Pod, status: {phase: Failed, message: evicted}}", "failed", "evicted"},
		{"a new Job", "{kind: Job}", "", ""},
		{"a complete Job", "{kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}", "succeeded", ""},
		{
			"a failed Job", "{kind: Job, status: {conditions: [{type: Failed, status: 'True', message: too many retries}]}}",
			"failed", "too many retries",
		},
		{"a suspended Job", "{kind: Job, status: {conditions: [{type: Suspended, status: 'True'}]}}", "", ""},
		{"a Job that may fail", "{kind: Job, status: {conditions: [{type: Failed, status: 'False'}]}}", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, message := outcomeOf(object(t, c.object))
			if string(got) != c.want || message != c.message {
				t.Errorf("the result is %q with the message %q, want others", got, message)
			}
		})
	}
}

func TestDeletePoliciesOfATest(t *testing.T) {
	for _, c := range []struct {
		name, policies string
		want           []deletePolicy
	}{
		{"none", "", []deletePolicy{beforeHookCreation}},
		{"one", "hook-failed", []deletePolicy{hookFailed}},
		{
			"several events, with spaces and capitals",
			"Hook-Succeeded , before-hook-creation",
			[]deletePolicy{beforeHookCreation, hookSucceeded},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			hook := &unstructured.Unstructured{}
			hook.SetAnnotations(map[string]string{deletePolicyAnnotation: c.policies})
			var got []deletePolicy
			for _, policy := range []deletePolicy{beforeHookCreation, hookSucceeded, hookFailed} {
				if deletedAt(hook, policy) {
					got = append(got, policy)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
