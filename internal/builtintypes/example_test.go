package builtintypes_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
)

func ExampleHasStatus() {
	fmt.Println(
		builtintypes.HasStatus(schema.GroupKind{Kind: "ConfigMap"}),
		builtintypes.HasStatus(schema.GroupKind{Group: "apps", Kind: "Deployment"}),
	)
	// Output: false true
}

func ExampleIsBuiltIn() {
	fmt.Println(builtintypes.IsBuiltIn("apps"), builtintypes.IsBuiltIn("example.com"))
	// Output: true false
}

func ExampleRunsOnce() {
	fmt.Println(
		builtintypes.RunsOnce(schema.GroupKind{Group: "batch", Kind: "Job"}),
		builtintypes.RunsOnce(schema.GroupKind{Group: "apps", Kind: "Deployment"}),
	)
	// Output: true false
}

func ExampleIsEphemeral() {
	job := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"ttlSecondsAfterFinished": int64(60)},
	}}
	fmt.Println(builtintypes.IsEphemeral(job))
	// Output: true
}

func ExampleRunsToCompletion() {
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"restartPolicy": "Never"},
	}}
	fmt.Println(builtintypes.RunsToCompletion(pod))
	// Output: true
}

func ExampleHoldsOthers() {
	fmt.Println(builtintypes.HoldsOthers(schema.GroupKind{Kind: "Namespace"}))
	// Output: true
}
