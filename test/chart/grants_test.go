package chart_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// operatorUser is the user name of the operator's service account.
const operatorUser = "system:serviceaccount:" + system + ":" + release

// right is a verb that a role of the chart grants to the operator.
type right struct {
	role, verb string
	// namespace is the namespace of the binding. It is empty for a right in the whole cluster.
	namespace string
	// resources are resources with their groups, such as "components/status.fairlead.io". A request for one of them uses
	// the right. All roles except the role for dependents grant a right for each resource.
	resources []string
	// names are the names of the objects; empty for all objects.
	names []string
}

func (r right) String() string {
	text := strings.TrimPrefix(r.role, release+"-") + ": " + r.verb + " " + r.resources[0]
	if len(r.resources) > 1 {
		text += " and others"
	}
	if r.namespace != "" {
		text += " in " + r.namespace
	}
	return text
}

// usage is a right that a request of the operator needs.
type usage struct{ verb, resource, namespace, name string }

func (r right) allows(u usage) bool {
	return (r.verb == u.verb || r.verb == "*") && (slices.Contains(r.resources, u.resource) || r.resources[0] == "*.*") &&
		(r.namespace == "" || r.namespace == u.namespace) && (len(r.names) == 0 || slices.Contains(r.names, u.name))
}

// usagesOf returns the rights that the requests of the operator's account need.
func usagesOf(events testcluster.Events) map[usage]bool {
	used := map[usage]bool{}
	for _, e := range events {
		switch resource := e.Resource + "." + e.APIGroup; {
		case e.Resource == "":
		case e.ImpersonatedUser != "":
			parts := strings.Split(e.ImpersonatedUser, ":")
			Expect(parts).To(HaveLen(4), e.ImpersonatedUser)
			used[usage{"impersonate", "serviceaccounts.", parts[2], parts[3]}] = true
		default:
			if e.Subresource != "" {
				resource = e.Resource + "/" + e.Subresource + "." + e.APIGroup
			}
			used[usage{e.Verb, resource, e.Namespace, e.Name}] = true
			// The API server requires create for a patch that creates the object.
			if e.Verb == "patch" && e.Code == http.StatusCreated {
				used[usage{"create", resource, e.Namespace, e.Name}] = true
			}
		}
	}
	return used
}

// grantedRights returns all rights that the release grants to the operator.
func grantedRights(ctx context.Context) []right {
	GinkgoHelper()
	released := client.MatchingLabels{"app.kubernetes.io/instance": release}
	var inCluster rbacv1.ClusterRoleBindingList
	var inNamespaces rbacv1.RoleBindingList
	Expect(admin.List(ctx, &inCluster, released)).To(Succeed())
	Expect(admin.List(ctx, &inNamespaces, released)).To(Succeed())
	var granted []right
	bound := func(ref rbacv1.RoleRef, namespace string, subjects []rbacv1.Subject) {
		if subjects[0].Name == release && subjects[0].Namespace == system {
			granted = append(granted, rightsOf(ctx, ref, namespace)...)
		}
	}
	for _, b := range inCluster.Items {
		bound(b.RoleRef, "", b.Subjects)
	}
	for _, b := range inNamespaces.Items {
		bound(b.RoleRef, b.Namespace, b.Subjects)
	}
	return granted
}

// rightsOf returns the rights of a role. An aggregated role has no rights of its own.
func rightsOf(ctx context.Context, ref rbacv1.RoleRef, namespace string) []right {
	GinkgoHelper()
	var role rbacv1.ClusterRole
	if ref.Kind == "Role" {
		var namespaced rbacv1.Role // a Role has the same rules
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &namespaced)).To(Succeed())
		role.Rules = namespaced.Rules
	} else {
		Expect(admin.Get(ctx, client.ObjectKey{Name: ref.Name}, &role)).To(Succeed())
	}
	if role.AggregationRule != nil {
		return nil
	}
	var rights []right
	together := map[string]*right{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					r := right{
						role: ref.Name, verb: verb, namespace: namespace, resources: []string{resource + "." + group},
						names: rule.ResourceNames,
					}
					// The role for dependents is a list of types. Users decide which of these types occur. So a right is used
					// if one of the types with the same verbs needs it.
					key := verb + " of " + strings.Join(rule.Verbs, " ")
					if ref.Name != release+"-dependents" || !slices.Contains(rule.Verbs, "watch") {
						rights = append(rights, r)
					} else if together[key] == nil {
						together[key] = &r
					} else {
						together[key].resources = append(together[key].resources, r.resources...)
					}
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(together)) {
		rights = append(rights, *together[key])
	}
	return rights
}

// unusedRights returns the rights that no request needs. A right in the whole cluster is unused if rights in namespaces
// allow all its requests.
func unusedRights(granted []right, used map[usage]bool) []string {
	needed := map[string]bool{}
	for u := range used {
		var allowing []right
		for _, r := range granted {
			if r.allows(u) {
				allowing = append(allowing, r)
			}
		}
		local := slices.ContainsFunc(allowing, func(r right) bool { return r.namespace != "" })
		for _, r := range allowing {
			if !local || r.namespace != "" {
				needed[r.String()] = true
			}
		}
	}
	unused := map[string]bool{}
	for _, r := range granted {
		if !needed[r.String()] {
			unused[r.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(unused))
}

// exceptions are the rights that the scenario does not use, with the reason, or the spec that needs them.
var exceptions = map[string]string{
	"components: patch events.events.k8s.io":                                         repeatedEvent,
	"components: get validatingadmissionpolicies.admissionregistration.k8s.io":       guardOfEarlierProcess,
	"components: get validatingadmissionpolicybindings.admissionregistration.k8s.io": guardOfEarlierProcess,
	"reach: patch events.events.k8s.io":                                              repeatedEvent,
	"reach: get validatingadmissionpolicies.admissionregistration.k8s.io":            guardOfEarlierProcess,
	"reach: get validatingadmissionpolicybindings.admissionregistration.k8s.io":      guardOfEarlierProcess,
	"reach: list apiservices.apiregistration.k8s.io":                                 streamedList,
	"reach: list components.fairlead.io":                                             streamedList,
	"reach: list customresourcedefinitions.apiextensions.k8s.io":                     streamedList,
	"grants: bind clusterroles.rbac.authorization.k8s.io":                            granting,
	"grants: bind roles.rbac.authorization.k8s.io":                                   granting,
	"grants: escalate clusterroles.rbac.authorization.k8s.io":                        granting,
	"grants: escalate roles.rbac.authorization.k8s.io":                               granting,
}

const (
	// The client library patches an event that it sends again for the same resource version of a component.
	repeatedEvent = "a failed pass that is repeated without a change of the status"
	// A process reads a guard that an earlier process has set up, before it deletes the guard.
	guardOfEarlierProcess = "a guard is removed after a restart if the deletion of the definition is then refused"
	// The client library lists by a watch where the API server supports that.
	streamedList = "an API server without streaming lists"
	// The API server checks these rights while it handles a request for a role, so the audit log does not show them.
	granting = "an operator whose own Deployment is in a component repairs this Deployment, and refuses to delete it"
)

var _ = DescribeTable("the operator uses each right that the chart grants,", func(ctx SpecContext,
	namespace, values string,
) {
	// The namespace must exist when the chart is installed, and the Lease must not, so that the operator creates it.
	prepareScenario(ctx, namespace)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "fairlead-operator"}}
	Expect(client.IgnoreNotFound(admin.Delete(ctx, lease))).To(Succeed())
	install(ctx, chart, "--set", values)
	DeferCleanup(func(ctx SpecContext) { helm(ctx, "uninstall", release, "--wait") }, NodeTimeout(time.Minute))
	granted := grantedRights(ctx)
	before, err := cluster.AuditEvents(ctx)
	Expect(err).NotTo(HaveOccurred())
	exerciseEverything(ctx, namespace, !strings.Contains(values, "observeNamespaces"))
	events, err := cluster.AuditEvents(ctx)
	Expect(err).NotTo(HaveOccurred())
	events = events[len(before):].User(operatorUser)
	unused := slices.DeleteFunc(unusedRights(granted, usagesOf(events)), func(r string) bool {
		return exceptions[strings.TrimSuffix(r, " in "+namespace)] != ""
	})
	Expect(unused).To(BeEmpty())
},
	Entry("by default", "grants-default", "", SpecTimeout(5*time.Minute)),
	Entry("if it may read all types", "grants-read-all", "rbac.readAll=true", SpecTimeout(5*time.Minute)),
	Entry("if it is confined to namespaces", "grants-confined", "components.namespaces={grants-confined}",
		SpecTimeout(5*time.Minute)),
	Entry("if the identity of the component watches", "grants-identity", "observe=identity", SpecTimeout(5*time.Minute)),
	Entry("if it watches some namespaces", "grants-namespaces", "observe=namespaces,observeNamespaces={grants-namespaces}",
		SpecTimeout(5*time.Minute)),
	Entry("if components act as the operator", "grants-operator",
		"components.actAs=operator,rbac.grants=true,components.otherServiceAccounts={*}", SpecTimeout(5*time.Minute)),
)
