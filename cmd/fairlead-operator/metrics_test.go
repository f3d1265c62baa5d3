package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tokenOf creates a service account and returns a token of the account.
func tokenOf(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(administrator.Create(ctx, account)).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	Expect(administrator.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// scraper returns a function that requests a URL like Prometheus: with a token, and without a check of the certificate.
func scraper(url, token string) func() (int, error) {
	c := http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	return func() (int, error) {
		request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
		if err != nil {
			return 0, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := c.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
}

var _ = Describe("Metrics", func() {
	It("are served by HTTPS, and only to users with the right to get the metrics", func(ctx SpecContext) {
		address := freeAddress()
		DeferCleanup(startOperator("--metrics-bind-address=" + address))
		namespace, url := newNamespace(ctx), "https://"+address+"/metrics"
		nobody, prometheus := tokenOf(ctx, namespace, "nobody"), tokenOf(ctx, namespace, "prometheus")
		Expect(administrator.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "scrape-" + namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "prometheus"}},
		})).To(Succeed())

		Eventually(scraper(url, "")).WithTimeout(soon).Should(Equal(http.StatusUnauthorized))
		Expect(scraper(url, "made-up")()).NotTo(Equal(http.StatusOK))
		Expect(scraper(url, nobody)()).To(Equal(http.StatusForbidden))
		Expect(answers("http://" + address + "/metrics")()).NotTo(Equal(http.StatusOK))
		Expect(scraper(url, prometheus)()).To(Equal(http.StatusOK))
	}, SpecTimeout(2*time.Minute))
})
