package conformance_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// The rights of the identities and operators of these specs. A rule has the form "groups | resources | verbs".
const (
	rightToAct      = "'' | serviceaccounts | impersonate"
	rightsOnConfigs = "'' | configmaps | get, list, watch, create, patch, delete"
)

// documented returns the rules of a role in docs/install.md, for gadgets instead of components.
func documented(role string) []string {
	GinkgoHelper()
	page, err := os.ReadFile("../../docs/install.md")
	Expect(err).NotTo(HaveOccurred())
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		var found rbacv1.ClusterRole
		Expect(yaml.Unmarshal([]byte(text), &found)).To(Succeed())
		if found.Name != role {
			continue
		}
		var rules []string
		for _, r := range found.Rules {
			rule := fmt.Sprintf("'%s' | %s | %s", strings.Join(r.APIGroups, "', '"), strings.Join(r.Resources, ", "),
				strings.Join(r.Verbs, ", "))
			rules = append(rules, strings.NewReplacer("'fairlead.io'", "gadgets.example.com", "components",
				"gadgets").Replace(rule))
		}
		return rules
	}
	Fail("docs/install.md has no role " + role)
	return nil
}

// permit grants rights to a user in a namespace, or in all namespaces if namespace is empty.
func permit(ctx context.Context, namespace, name, user string, rules ...string) {
	GinkgoHelper()
	var b strings.Builder
	for _, rule := range rules {
		parts := strings.Split(rule, " | ")
		fmt.Fprintf(&b, "- {apiGroups: [%s], resources: [%s], verbs: [%s]}\n", parts[0], parts[1], parts[2])
	}
	role, where := "Role", ", namespace: "+namespace
	if namespace == "" {
		role, where = "ClusterRole", ""
	}
	create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]s
metadata: {name: %[3]s%[2]s}
rules:
%[5]s---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]sBinding
metadata: {name: %[3]s%[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: %[3]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[4]q}]`, role, where, name, user, b.String()))
}

// withdraw removes the rights that permit granted in a namespace.
func withdraw(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, name))
}

// newUser creates the identity of an operator, which has no rights yet.
func newUser(ctx context.Context, name string) *rest.Config {
	GinkgoHelper()
	user, err := cluster.User(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	return user.Config
}

// configMapWatches lists the watches on ConfigMaps as "user namespace". A watch that was opened several times is listed
// several times.
func configMapWatches(events testcluster.Events) []string {
	var found []string
	for _, e := range events.Resource("configmaps").Verb("watch").Code(200) {
		found = append(found, strings.TrimSpace(e.ImpersonatedUser+" "+e.Namespace))
	}
	return found
}

// scissors wraps the transport of an operator, and can close the operator's open watches.
type scissors struct {
	mu   sync.Mutex
	open []io.Closer
}

func (s *scissors) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") == "true" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.open = append(s.open, response.Body)
		}
		return response, err
	})
}

func (s *scissors) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.open {
		_ = body.Close()
	}
	s.open = nil
}
