package execute

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Refusal is the answer of an API server that refuses a manifest itself, whoever sends it.
type Refusal struct {
	Failure plan.Failure
	// Mistyped is set if the manifest does not match its type. Immutable is set if the manifest changes a field that
	// cannot change. Other is set if the answer also has a cause that is not about such fields.
	Mistyped, Immutable, Other bool
	// Causes are the causes in the answer, whose messages may contain values of the object.
	Causes []metav1.StatusCause
}

// Refused asks the API server, by a dry run, whether it refuses the manifest of a create or an update. accepted is set
// if the API server accepts the manifest. There is no result if its answer says nothing about the manifest: a right is
// missing, a webhook refuses or supports no dry run, or the object changed. If the namespace of the object does not
// exist, the dry run is repeated in the namespace of the component, if that is known, under a free name if necessary.
// Only the manifest counts for an update with the policy replace, because its request depends on the live object.
func (e *Executor) Refused(ctx context.Context, a plan.Action) (refusal *Refusal, accepted bool) {
	whole, err := a.Object.Whole()
	if err != nil {
		return nil, false
	}
	a.Object = &whole
	err = e.ask(ctx, a)
	home := e.writer.clients.componentNamespace
	if isNamespaceMissing(err) && home != "" && home != a.Key.Namespace {
		a = movedTo(a, home, a.Key.Name)
		if err = e.ask(ctx, a); apierror.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			// An object of this name exists there, so the name is valid. The answer says nothing about the manifest.
			err = e.ask(ctx, movedTo(a, home, freeName(a.Key)))
		}
	}
	if !refusesManifest(err) {
		return nil, err == nil
	}
	if a.Verb != plan.VerbCreate {
		a.Verb = plan.VerbApply
	}
	failure := failureOf(err, a, e.writer.clients.user)
	e.nameFields(ctx, failure, a, err)
	e.nameOthers(ctx, failure, a, err)
	return &Refusal{
		Failure:  *failure,
		Mistyped: !apierrors.IsInvalid(err), Immutable: apitext.ImmutableField(err), Other: apitext.OtherCause(err),
		Causes: causesOf(err),
	}, false
}

func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// movedTo returns an action with another namespace and name.
func movedTo(a plan.Action, namespace, name string) plan.Action {
	moved := *a.Object
	moved.Body = a.Object.Body.DeepCopy()
	moved.Body.SetNamespace(namespace)
	moved.Body.SetName(name)
	a.Object, a.Key.Namespace, a.Key.Name = &moved, namespace, name
	return a
}

// freeName returns a name that no object has, and that is valid for all kinds.
func freeName(key manifests.Key) string {
	sum := sha256.Sum256([]byte(key.String()))
	return fmt.Sprintf("dry-run-%x", sum[:8])
}

// ask sends the manifest of an action as a dry run.
func (e *Executor) ask(ctx context.Context, a plan.Action) error {
	w := e.writer
	return discovery.WithRenewal(w.clients.mapper, func() error {
		resource, err := w.clients.resource(a)
		if err != nil {
			return err
		}
		creates := a.Verb == plan.VerbCreate
		// Only dry runs of applies are kept from servers that might write; see transport.WithDryRunCheck.
		if creates && a.Policy == metav1alpha1.UpdateReplace && builtintypes.IsBuiltIn(a.Key.Group) {
			options := metav1.CreateOptions{FieldManager: w.view.FieldManager(), DryRun: []string{metav1.DryRunAll}}
			_, err = resource.Create(ctx, a.Object.Body, options)
			return err
		}
		extra := map[string]any{"uid": string(a.Preconditions.UID)}
		if creates {
			extra = map[string]any{"resourceVersion": "1"}
		}
		_, err = w.patch(ctx, resource, a, extra, metav1.DryRunAll)
		if !creates && mayExclude(a, err) {
			w.dryRun = true
			_, err = w.applyExcluding(ctx, resource, a, err, nil)
		}
		return err
	})
}

func isNamespaceMissing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// refusesManifest reports whether an error is about the manifest itself.
func refusesManifest(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierror.IsConflict(err) || apitext.DryRunUnsupported(err) ||
		apitext.Admission(status.Status().Message) != "" {
		return false
	}
	s := status.Status()
	return s.Code == http.StatusUnprocessableEntity || s.Code == http.StatusBadRequest ||
		s.Code == http.StatusRequestEntityTooLarge || apitext.Untyped(s) || apitext.TooLarge(s)
}
