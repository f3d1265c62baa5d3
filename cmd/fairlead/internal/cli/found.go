package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/component"
)

// found is an object that exists in a cluster.
type found struct {
	cluster *cluster.Cluster
	target  cluster.Target
	obj     *unstructured.Unstructured
}

// maxHidden is how many names of what cannot be read an error has.
const maxHidden = 3

// notAllRead tells of what the API server does not show, after all else was shown; there may be nothing of that.
func notAllRead(name string, hidden []string) error {
	switch more := len(hidden) - maxHidden; {
	case len(hidden) == 0:
		return nil
	case more > 0:
		hidden = append(slices.Clone(hidden[:maxHidden]), fmt.Sprintf("and %d more", more))
	}
	return exit.Unasked("%s: not all of it can be read: %s", name, strings.Join(hidden, ", "))
}

// find connects as the flags say, and finds what a person named.
func (a *app) find(ctx context.Context, name string) (found, error) {
	c, target, err := a.connect(name)
	if err != nil {
		return found{}, err
	}
	obj, err := c.Find(ctx, target)
	return found{c, target, obj}, err
}

// maintained is a component whose reconciler is known, so that it can be told something.
type maintained struct {
	found
	status     metav1alpha1.Status
	reconciler string
}

// findMaintained finds the component that a person named, to tell its operator something.
func (a *app) findMaintained(ctx context.Context, name string) (maintained, error) {
	f, err := a.find(ctx, name)
	if err != nil {
		return maintained{}, err
	}
	return f.maintained()
}

// maintained reads the status, and who maintains it.
func (f found) maintained() (maintained, error) {
	status, err := cluster.StatusIfAny(f.target, f.obj)
	if err != nil {
		return maintained{}, err
	}
	reconciler, err := cluster.Reconciler(f.target, status)
	return maintained{f, status, reconciler}, err
}

// request asks the operator for a pass, and to acknowledge that, if somebody waits for it. It returns the component with the request.
func (f maintained) request(ctx context.Context, acknowledge bool) (after *unstructured.Unstructured, request string, err error) {
	request = time.Now().UTC().Format(time.RFC3339Nano)
	annotations := map[string]string{f.annotation(component.AnnotationReconcileRequested): request}
	if acknowledge {
		annotations[f.annotation(component.AnnotationReconcileAcknowledge)] = request
	}
	after, err = f.cluster.Annotate(ctx, f.obj, annotations)
	return after, request, err
}

// annotation returns the key of an annotation that the component's operator heeds.
func (f maintained) annotation(name string) string { return f.reconciler + "/" + name }

// suspended says that the spec, or the operator, says so.
func (f maintained) suspended() bool {
	suspend, _, _ := unstructured.NestedBool(f.obj.Object, "spec", "suspend")
	return suspend || f.status.State == metav1alpha1.StateSuspended && f.status.ObservedGeneration >= f.obj.GetGeneration()
}
