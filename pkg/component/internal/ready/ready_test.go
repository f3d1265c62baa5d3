package ready_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

func TestAJobIsReadyWhenItIsComplete(t *testing.T) {
	for name, c := range map[string]struct {
		job  string
		want ready.State
	}{
		"not started": {"{spec: {}}", ready.InProgress},
		"running":     {"{status: {startTime: '2026-01-01T00:00:00Z', active: 1}}", ready.InProgress},
		"succeeded, but not yet declared complete": {
			"{status: {startTime: '2026-01-01T00:00:00Z', succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: 'True'}]}}", ready.InProgress,
		},
		"complete": {
			"{status: {startTime: '2026-01-01T00:00:00Z', succeeded: 1, conditions: [{type: Complete, status: 'True'}]}}", ready.Ready,
		},
		"failed": {
			"{status: {startTime: '2026-01-01T00:00:00Z', failed: 1, conditions: [{type: Failed, status: 'True'}]}}", ready.Failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(c.job), &job.Object); err != nil {
				t.Fatal(err)
			}
			job.SetAPIVersion("batch/v1")
			job.SetKind("Job")
			if got := ready.Of(job, ready.Hints{}); got.State != c.want {
				t.Errorf("want %s, got %s: %s", c.want, got.State, got.Message)
			}
		})
	}
}

func TestAnAPIServiceIsReadyWhenItIsAvailable(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		want   ready.Result
	}{
		"new":           {"{}", ready.Result{State: ready.InProgress, Message: "not Available yet"}},
		"not answering": {"{conditions: [{type: Available, status: 'False', message: no endpoints}]}", ready.Result{State: ready.InProgress, Message: "not Available yet: no endpoints"}},
		"available":     {"{conditions: [{type: Available, status: 'True', message: fine}]}", ready.Result{State: ready.Ready}},
	} {
		t.Run(name, func(t *testing.T) {
			service := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte("{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: "+c.status+"}"), &service.Object); err != nil {
				t.Fatal(err)
			}
			if got := ready.Of(service, ready.Hints{}); got != c.want {
				t.Errorf("want %v, got %v", c.want, got)
			}
		})
	}
}

func TestAPodThatRunsToCompletionIsReadyWhenItIs(t *testing.T) {
	const running = "{phase: %s, conditions: [{type: Ready, status: 'True'}]}"
	for _, c := range []struct {
		restart, phase string
		want           ready.State
	}{
		{"Always", "Running", ready.Ready},
		{"Never", "Running", ready.InProgress},
		{"OnFailure", "Running", ready.InProgress},
		{"Never", "Succeeded", ready.Ready},
		{"Never", "Failed", ready.Failed},
	} {
		t.Run(c.restart+" "+c.phase, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			text := "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: " + c.restart + "}, status: " + fmt.Sprintf(running, c.phase) + "}"
			if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
				t.Fatal(err)
			}
			if got := ready.Of(obj, ready.Hints{}); got.State != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
