package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/fairlead-io/fairlead/test/gadget"
)

// grant creates a Role with the given name that grants rights to a user in a namespace. A rule has the form "resources:
// verbs".
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
