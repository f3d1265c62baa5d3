package egress

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/deletionrights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// FlagCallFunctions is the flag that allows calls of functions.
const FlagCallFunctions = "call-functions"

// Gate decides for one command.
type Gate struct {
	Cluster *cluster.Cluster
	// CallFunctions is set if the person allowed calls of functions.
	CallFunctions bool
	// Tell is called with a line about each address that the command will call. It may be nil if CallFunctions is not
	// set.
	Tell func(line string)
}

// Use contains the addresses to which an operation sends data.
type Use struct {
	// Renders is set if the operation renders the component, and so calls its function.
	Renders bool
	// Connects is set if the operation connects to the cluster of the component's kubeconfig.
	Connects bool
}

// Access contains the rights for an operation.
type Access struct {
	// User is impersonated for all reads. An empty User means the person who runs the command.
	User string
	// CallFunctions is set if a function may be called.
	CallFunctions bool
}

// Refusal is the error if an operation would send data out of the cluster, and may not do so. It is wrapped by an
// exit.Error.
type Refusal struct{ message string }

// Error implements error.
func (r *Refusal) Error() string { return r.message }

// Open returns the access for an operation on a component. If nothing leaves the cluster, the operation has the rights
// of the person. Otherwise it has those of the component's identity. The error wraps a Refusal if the person did not
// allow calls of functions, or may not impersonate the identity.
func (g Gate) Open(ctx context.Context, component *v1alpha1.Component, use Use) (Access, error) {
	calls := use.Renders && component.Spec.Function != nil
	if !calls && (!use.Connects || component.Spec.Target == nil) {
		return Access{}, nil
	}
	user := deletionrights.Identity(ctx, g.Cluster.Client, component.Namespace, component.Spec.ServiceAccountName())
	if calls && !g.CallFunctions {
		return Access{}, refuse(exit.Misuse, "%s: spec.generator is Function, so the command would call %s, and send %s, "+
			"all read as %s; if you trust this address, add --%s",
			nameOf(component), addressOf(component), contentOf(component), user, FlagCallFunctions)
	}
	impersonated, err := g.impersonate(ctx, component, user)
	if err != nil {
		return Access{}, err
	}
	if calls {
		g.Tell(fmt.Sprintf("calling %s for %s with %s, all read as %s",
			addressOf(component), nameOf(component), contentOf(component), user))
	}
	return Access{User: impersonated, CallFunctions: calls}, nil
}

// Client returns the client with the rights of an access.
func (g Gate) Client(a Access) (client.Client, error) {
	if a.User == "" {
		return g.Cluster.Client, nil
	}
	return g.Cluster.As(a.User)
}

// impersonate returns the user to impersonate for the rights of the given user, which is empty if the person is the
// user. It returns an error if the person may not impersonate the user.
func (g Gate) impersonate(ctx context.Context, component *v1alpha1.Component, user string) (string, error) {
	namespace, account := deletionrights.AccountOf(user)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "impersonate", Resource: "serviceaccounts", Namespace: namespace, Name: account,
		},
	}}
	err := g.Cluster.Create(ctx, review)
	if apierrors.IsForbidden(err) || err == nil && review.Status.Allowed {
		// Without an answer, the API server decides about each impersonated request.
		return user, nil
	}
	if err != nil {
		return "", err
	}
	person := &authenticationv1.SelfSubjectReview{}
	if err := g.Cluster.Create(ctx, person); err == nil && person.Status.UserInfo.Username == user {
		return "", nil
	}
	return "", refuse(exit.NotAsked, "%s: %s, so it must act as the component's identity %s, and you may not impersonate "+
		"it; the right that is missing is the verb impersonate on serviceaccounts %s in the namespace %s",
		nameOf(component), reasonOf(component), user, account, namespace)
}

func refuse(code exit.Code, format string, args ...any) error {
	return &exit.Error{Code: code, Err: &Refusal{message: fmt.Sprintf(format, args...)}}
}

func nameOf(component *v1alpha1.Component) string {
	return "component." + v1alpha1.GroupVersion.Group + "/" + component.Name
}

// addressOf returns the URL of the function. It is a text of the component's author.
func addressOf(component *v1alpha1.Component) string {
	return terminal.Clean(component.Spec.Function.URL)
}

// reasonOf returns the reason why the data of an operation leaves the cluster.
func reasonOf(component *v1alpha1.Component) string {
	if component.Spec.Function != nil {
		return "spec.function makes the command send data to " + addressOf(component)
	}
	return fmt.Sprintf("spec.kubeConfig makes the command send data to the server that Secret %s/%s names",
		component.Namespace, component.Spec.Target.SecretRef.Name)
}

// contentOf describes the data that a call of the function sends.
func contentOf(component *v1alpha1.Component) string {
	sent := []string{"the name and the values of the component"}
	add := func(what string, kind metav1alpha1.ReferenceKind, name string) {
		sent = append(sent, fmt.Sprintf("%s%s %s/%s", what, kind, component.Namespace, name))
	}
	for _, from := range component.Spec.ValuesFrom {
		if from.Kind == metav1alpha1.ComponentReference {
			add("export "+from.Export+" of ", from.Kind, from.Name)
			continue
		}
		add("values of ", from.Kind, from.Name)
	}
	for _, input := range component.Spec.Inputs {
		text := "the input " + input.Name
		if o := input.Object; o != nil {
			text += " of " + o.Title()
		}
		sent = append(sent, text)
	}
	for _, item := range component.Spec.Function.Items {
		add("the content of ", item.Kind, item.Name)
	}
	if token := component.Spec.Function.TokenRef; token != nil {
		add("the token in ", metav1alpha1.SecretReference, token.Name)
	}
	return strings.Join(sent, ", ")
}
