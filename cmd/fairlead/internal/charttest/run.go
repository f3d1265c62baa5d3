package charttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Result is the result of a test that ran.
type Result struct {
	Test   manifests.Key
	Passed bool
	// Took is the time from the creation of the test to its result.
	Took time.Duration
	// Message says why the test failed.
	Message string
}

// Runner runs tests one after the other.
type Runner struct {
	Cluster *cluster.Cluster
	// Namespace is that of tests without a namespace of their own.
	Namespace string
	// Timeout is the time that each test has.
	Timeout time.Duration
	// Report is called with the result of each test, while its objects still exist.
	Report func(context.Context, Result)
}

// Run creates the objects of tests in the given order, and waits for each Job and Pod. It stops at the first test that
// fails, and reports whether all passed. Objects are deleted by their delete policies, as Helm does: those with
// before-hook-creation before they are created again, those with hook-succeeded after all tests, and a failed one with
// hook-failed. An error means that a test could not be run; the objects that exist then stay.
func (r Runner) Run(ctx context.Context, tests []*unstructured.Unstructured) (passed bool, err error) {
	var created []*unstructured.Unstructured
	passed = true
	for _, test := range tests {
		test, err := r.placed(test)
		if err != nil {
			return false, exit.Refuse("%s: %w", keyOf(test), err)
		}
		live, err := r.create(ctx, test)
		if err != nil {
			return false, exit.Refuse("%s: %w", keyOf(test), err)
		}
		if Runs(test) {
			result, err := r.wait(ctx, live)
			if err != nil {
				return false, exit.Refuse("%s: %w", keyOf(live), err)
			}
			r.Report(ctx, result)
			passed = result.Passed
		}
		if !passed {
			if deletedAt(live, hookFailed) {
				err = r.delete(ctx, live)
			}
			return false, errors.Join(err, r.deleteSucceeded(ctx, created))
		}
		created = append(created, live)
	}
	return true, r.deleteSucceeded(ctx, created)
}

// placed returns a copy of a test with the namespace in which it runs.
func (r Runner) placed(test *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	test = test.DeepCopy()
	namespaced, err := r.Cluster.IsObjectNamespaced(test)
	switch {
	case err != nil:
		return test, err
	case !namespaced:
		test.SetNamespace("")
	case test.GetNamespace() == "":
		test.SetNamespace(r.Namespace)
	}
	return test, nil
}

// create creates the object of a test. If the object has the delete policy before-hook-creation, a previous one is
// deleted first. A namespace or another object that holds others is used as it is.
func (r Runner) create(ctx context.Context, test *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	previous := test.DeepCopy()
	switch err := r.Cluster.Get(ctx, client.ObjectKeyFromObject(test), previous); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, err
	case holdsOthers(test):
		return previous, nil
	case !isTest(previous):
		return nil, exit.Refuse("an object of this name exists and is no test; rename the test")
	case deletedAt(test, beforeHookCreation):
		if err := r.deleteAndWait(ctx, previous); err != nil {
			return nil, err
		}
	}
	return test, r.Cluster.Create(ctx, test, client.FieldOwner(cluster.FieldOwner))
}

// wait waits until a Job or Pod has succeeded or failed.
func (r Runner) wait(ctx context.Context, test *unstructured.Unstructured) (Result, error) {
	result, began := Result{Test: keyOf(test)}, time.Now()
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	var state outcome
	err := r.Cluster.Follow(limited, test, func(current *unstructured.Unstructured) (bool, error) {
		if current == nil {
			return false, exit.Refuse("it was deleted while it ran")
		}
		state, result.Message = outcomeOf(current)
		return state != running, nil
	})
	result.Took, result.Passed = time.Since(began), state == succeeded
	if timedOut := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; timedOut {
		result.Message, err = fmt.Sprintf("not complete after %s", r.Timeout), nil
	}
	if err != nil || result.Passed {
		return result, err
	}
	if found := dependentcauses.Find(ctx, r.Cluster, result.Test); len(found) > 0 {
		result.Message = withCause(result.Message, found[0], result.Test)
	}
	return result, nil
}

// withCause adds a cause to the message of a failed test. A cause in the test itself does not name the test again.
func withCause(message string, cause dependentcauses.Cause, test manifests.Key) string {
	text := cause.String()
	if cause.Object == test.String() {
		text = cause.Reason + ": " + cause.Message
	}
	if message == "" {
		return text
	}
	return message + "; cause: " + text
}

// deleteSucceeded deletes the objects with the delete policy hook-succeeded, the last one first.
func (r Runner) deleteSucceeded(ctx context.Context, created []*unstructured.Unstructured) error {
	var errs []error
	for _, object := range slices.Backward(created) {
		if deletedAt(object, hookSucceeded) {
			errs = append(errs, r.delete(ctx, object))
		}
	}
	return errors.Join(errs...)
}

// delete deletes an object of a test, if it still is the given one.
func (r Runner) delete(ctx context.Context, object *unstructured.Unstructured) error {
	if holdsOthers(object) {
		return nil
	}
	err := r.Cluster.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: new(object.GetUID())})
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("delete %s: %w", keyOf(object), err)
}

func (r Runner) deleteAndWait(ctx context.Context, object *unstructured.Unstructured) error {
	if err := r.delete(ctx, object); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	err := r.Cluster.Follow(limited, object, func(current *unstructured.Unstructured) (bool, error) {
		return current == nil, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return exit.Refuse("the previous test was not deleted within %s", r.Timeout)
	}
	return err
}
