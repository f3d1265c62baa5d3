package deletionrights

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
)

// Report contains the result of a check.
type Report struct {
	Missing []Missing
	// Hint says why rights were not checked. Hint is empty if the person may ask for the rights.
	Hint string
}

// OfDeletion checks the rights that the deletion of a component of the ready-made operator needs. It returns an empty
// report for other components, and for components whose dependents are in another cluster, because their identities are
// not known. It leaves out the rights of an operator whose Deployment it does not find.
func OfDeletion(
	ctx context.Context, c *cluster.Cluster, target cluster.Target, obj *unstructured.Unstructured,
) (Report, error) {
	status, err := cluster.StatusIfAny(target, obj)
	if err != nil || !target.IsReadyMade() || status.TargetCluster != "" {
		return Report{}, err
	}
	inventory, err := tree.Inventory(ctx, c, &status)
	if err != nil {
		// The inventory of a large component is in Secrets, which the person may not be allowed to read.
		return Report{Hint: "the rights for the deletion were not checked: " + err.Error()}, nil
	}
	account, _, err := unstructured.NestedString(obj.Object, "spec", "serviceAccountName")
	if err != nil {
		return Report{}, err
	}
	k := checker{client: c.Client, operator: findOperator(ctx, c.Client)}
	k.identity = k.operator.identityOf(target.Namespace, account)
	k.watcher = k.operator.user
	if k.operator.watchesAsIdentity {
		k.watcher = k.identity
	}
	for _, n := range needsOf(inventory) {
		if err := k.check(ctx, n); err != nil {
			return Report{}, err
		}
	}
	return k.report, nil
}

// checker asks the API server for rights.
type checker struct {
	client   client.Client
	operator operator
	// identity deletes and releases dependents, and watcher lists instances. They are empty if they are not known.
	identity, watcher string
	report            Report
	// forbidden is set if the person may not ask for the rights of others.
	forbidden bool
}

const hintForbidden = "the rights for the deletion were not checked, because you may not create SubjectAccessReviews"

func (k *checker) check(ctx context.Context, n need) error {
	user := k.identity
	if n.lists {
		user = k.watcher
	}
	if user == "" || k.forbidden {
		return nil
	}
	versions := []string{n.kind.Version}
	if n.kind.Version == "" {
		versions = nil
	}
	mapping, err := k.client.RESTMapper().RESTMapping(n.kind.GroupKind(), versions...)
	if meta.IsNoMatchError(err) {
		return nil // The objects were deleted with their type, or the plan names the type as not served.
	}
	if err != nil {
		k.report.Missing = append(k.report.Missing, Missing{
			User: user, Verb: n.verb, Resource: n.kind.GroupKind().String(), Namespace: n.namespace, Names: n.names,
			Why: n.why + ", but the API does not answer: " + err.Error(),
		})
		return nil
	}
	resource := mapping.Resource.GroupResource()
	names, err := k.lacking(ctx, user, n, authorizationv1.ResourceAttributes{
		Namespace: n.namespace, Verb: n.verb, Group: resource.Group, Resource: resource.Resource,
	})
	if apierrors.IsForbidden(err) {
		k.forbidden, k.report.Hint = true, hintForbidden
		return nil
	}
	if err != nil || names == nil {
		return err
	}
	k.report.Missing = append(k.report.Missing, Missing{
		User: user, Verb: n.verb, Resource: resource.String(), Namespace: n.namespace, Names: *names, Why: n.why,
	})
	return nil
}

// lacking returns the objects of a need for which a user lacks the right. It returns nil if the user has the right.
func (k *checker) lacking(
	ctx context.Context, user string, n need, attributes authorizationv1.ResourceAttributes,
) (*[]string, error) {
	may, err := k.may(ctx, user, attributes)
	if err != nil || may {
		return nil, err
	}
	var names []string
	for _, name := range n.names {
		attributes.Name = name
		if may, err = k.may(ctx, user, attributes); err != nil {
			return nil, err
		}
		if !may {
			names = append(names, name)
		}
	}
	if len(n.names) > 0 && len(names) == 0 {
		return nil, nil
	}
	return &names, nil
}

func (k *checker) may(ctx context.Context, user string, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &attributes, User: user, Groups: groupsOf(user),
	}}
	err := k.client.Create(ctx, review)
	return review.Status.Allowed, err
}

const accountPrefix = "system:serviceaccount:"

// DefaultAccount is the service account of components that name no account, unless the operator has another default. It
// is the default of the operator's chart.
const DefaultAccount = "fairlead"

// Identity returns the user as which the operator reads the inputs of a component that names the given account, which
// may be empty. If the Deployment of the operator is not found, it returns the account with the name DefaultAccount.
func Identity(ctx context.Context, c client.Client, namespace, account string) string {
	if account != "" {
		return accountPrefix + namespace + ":" + account
	}
	if user := findOperator(ctx, c).identityOf(namespace, ""); user != "" {
		return user
	}
	return accountPrefix + namespace + ":" + DefaultAccount
}

// AccountOf returns the namespace and the name of the service account that a user is.
func AccountOf(user string) (namespace, name string) {
	namespace, name, _ = strings.Cut(strings.TrimPrefix(user, accountPrefix), ":")
	return namespace, name
}

// groupsOf returns the groups to which the API server adds a service account.
func groupsOf(user string) []string {
	namespace, _ := AccountOf(user)
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}

// operator contains the facts about the operator that decide which identity makes the requests of a deletion.
type operator struct {
	// user is the service account of the operator, or empty if its Deployment was not found.
	user string
	// defaultAccount is the service account of components that name none.
	defaultAccount string
	// watchesAsIdentity is set if the identity of the component makes the watches.
	watchesAsIdentity bool
}

// operatorLabel contains the name of the operator's chart.
var operatorLabel = client.MatchingLabels{"app.kubernetes.io/name": "fairlead-operator"}

// findOperator reads the Deployment that the operator's chart creates. The result is empty if the person may not list
// Deployments, or if there is not exactly one.
func findOperator(ctx context.Context, c client.Client) operator {
	found := &appsv1.DeploymentList{}
	if err := c.List(ctx, found, operatorLabel); err != nil || len(found.Items) != 1 {
		return operator{}
	}
	deployment := &found.Items[0]
	pod := &deployment.Spec.Template.Spec
	o := operator{user: accountPrefix + deployment.Namespace + ":" + pod.ServiceAccountName}
	for _, container := range pod.Containers {
		for _, argument := range container.Args {
			flag, value, _ := strings.Cut(argument, "=")
			switch flag {
			case "--default-service-account":
				o.defaultAccount = value
			case "--observe":
				o.watchesAsIdentity = value == string(component.WatchScopeIdentity)
			}
		}
	}
	return o
}

// identityOf returns the user that deletes the dependents of a component, or an empty text if it is not known.
func (o operator) identityOf(namespace, account string) string {
	if account == "" {
		account = o.defaultAccount
	}
	if account == "" {
		return o.user
	}
	return accountPrefix + namespace + ":" + account
}
