package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/fairlead-io/fairlead/test/gadget"
)

// grant creates a Role with the given name that grants rights to a user in a namespace, and waits until the API server
// has read it. A rule has the form "resources: verbs".
func grant(ctx context.Context, namespace, name, user string, rules ...string) {
	GinkgoHelper()
	create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[2]s, namespace: %[1]s}
rules:
%[4]s---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[2]s, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[2]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[3]q}]`, namespace, name, user, policyRules(rules)))
	awaitRights(ctx, namespace, user, rules)
}

// awaitRights waits until the API server allows what the rules grant to a user. An empty namespace means all namespaces.
func awaitRights(ctx context.Context, namespace, user string, rules []string) {
	GinkgoHelper()
	for _, rule := range rules {
		resources, verbs, _ := strings.Cut(strings.ReplaceAll(rule, "'", ""), ": ")
		for resource := range strings.SplitSeq(resources, ", ") {
			for verb := range strings.SplitSeq(verbs, ", ") {
				Eventually(ctx, func(g Gomega) bool {
					review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
						User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
							Namespace: namespace, Verb: verb, Resource: resource,
						},
					}}
					g.Expect(k8s.Create(ctx, review)).To(Succeed())
					return review.Status.Allowed
				}).Should(BeTrue(), "%s may %s %s", user, verb, resource)
			}
		}
	}
}

func policyRules(rules []string) string {
	var b strings.Builder
	for _, rule := range rules {
		resources, verbs, _ := strings.Cut(rule, ": ")
		fmt.Fprintf(&b, "- {apiGroups: [\"\", apps, batch], resources: [%s], verbs: [%s]}\n", resources, verbs)
	}
	return b.String()
}

// serviceAccountUser returns the user name of a service account.
func serviceAccountUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

func asServiceAccount(name string) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) { g.Spec.ServiceAccountName = name }
}
