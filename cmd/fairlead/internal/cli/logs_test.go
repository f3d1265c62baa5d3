package cli_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("logs", onCluster(func() {
	It("merges the lines of the pods of the component's workloads, and of no other pods", func(ctx SpecContext) {
		namespace, node := newNamespace(ctx), newKubelet(ctx)
		web := workload(ctx, namespace, "web")
		other := workload(ctx, namespace, "other")
		podOf(ctx, node, namespace, "web-a", web)
		podOf(ctx, node, namespace, "web-b", web)
		podOf(ctx, node, namespace, "other-a", other)
		podOf(ctx, node, namespace, "lonely", nil)
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web", "/v1/ConfigMap/"+namespace+"/settings")
		node.container("web-a", "main") <- "2026-03-01T12:00:01Z one"
		node.container("web-a", "main") <- "2026-03-01T12:00:03Z three"
		node.container("web-b", "main") <- "2026-03-01T12:00:02Z two"

		r := fairlead(ctx, namespace, "logs", "shop", "--since=1m", "--tail=7")
		Expect(r).To(Equal(result{Out: "[pod/web-a/main] one\n[pod/web-b/main] two\n[pod/web-a/main] three\n"}))
		Expect(node.asked()).To(And(HaveKeyWithValue("tailLines", []string{"7"}),
			HaveKeyWithValue("sinceSeconds", []string{"60"})))

		node.container("web-b", "proxy") <- "2026-03-01T12:00:04Z hello"
		r = fairlead(ctx, namespace, "logs", "shop", "deployment/web", "-l", "pod=web-b", "--all-containers",
			"--prefix=false", "--timestamps", "--tail=-1")
		Expect(r).To(Equal(result{Out: "2026-03-01T12:00:04Z hello\n"}))
		Expect(node.asked()).NotTo(HaveKey("tailLines"))
	})

	It("follows new lines, also of later pods, until it is interrupted", func(ctx SpecContext) {
		namespace, node := newNamespace(ctx), newKubelet(ctx)
		web := workload(ctx, namespace, "web")
		podOf(ctx, node, namespace, "web-a", web)
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web")
		p := start(ctx, namespace, "logs", "shop", "-f")
		node.container("web-a", "main") <- "2026-03-01T12:00:01Z one"
		Eventually(ctx, p.out).Should(gbytes.Say(`\[pod/web-a/main\] one\n`))
		node.container("web-b", "main") <- "2026-03-01T12:00:02Z two"
		later := podOf(ctx, node, namespace, "web-b", web)
		Eventually(ctx, p.out).Should(gbytes.Say(`\[pod/web-b/main\] two\n`))
		Expect(node.asked()).NotTo(HaveKey("tailLines"), "the command must request all lines of a new container")

		close(node.container("web-b", "main"))
		node.mu.Lock()
		delete(node.logs, "web-b/main")
		node.mu.Unlock()
		node.container("web-b", "main") <- "2026-03-01T12:00:03Z again"
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(later), later)).To(Succeed())
		later.Status.ContainerStatuses[0].RestartCount = 1
		Expect(k8s.Status().Update(ctx, later)).To(Succeed())
		Eventually(ctx, p.out).Should(gbytes.Say(`\[pod/web-b/main\] again\n`))
		p.stop()
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(p.err.Contents()).To(BeEmpty())
	})

	It("shows the logs that can be read, and reports the others", func(ctx SpecContext) {
		namespace, node := newNamespace(ctx), newKubelet(ctx)
		web := workload(ctx, namespace, "web")
		podOf(ctx, node, namespace, "web-a", web)
		podOf(ctx, node, namespace, "web-b", web)
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web")
		node.lost = "web-a"
		node.container("web-b", "main") <- "2026-03-01T12:00:02Z two"
		Expect(fairlead(ctx, namespace, "logs", "shop")).To(Equal(result{
			Code: 1, Out: "[pod/web-b/main] two\n",
			Err: "fairlead: pod/web-a/main: the server could not find the requested resource (pods/log web-a)\n",
		}))
	})

	It("ends if its output cannot be written", func(ctx SpecContext) {
		namespace, node := newNamespace(ctx), newKubelet(ctx)
		podOf(ctx, node, namespace, "web-a", workload(ctx, namespace, "web"))
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web")
		node.container("web-a", "main") <- "2026-03-01T12:00:02Z two"
		expectFull(ctx, connected(namespace, "logs", "shop", "-f"))
	})

	It("shows the lines of containers before their restart", func(ctx SpecContext) {
		namespace, node := newNamespace(ctx), newKubelet(ctx)
		web := workload(ctx, namespace, "web")
		podOf(ctx, node, namespace, "web-a", web)
		crashed := podOf(ctx, node, namespace, "web-b", web)
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web")
		Expect(fairlead(ctx, namespace, "logs", "shop", "--previous")).
			To(Equal(result{Err: "component.fairlead.io/shop has no restarted containers.\n"}))

		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(crashed), crashed)).To(Succeed())
		crashed.Status.ContainerStatuses[0].RestartCount = 1
		crashed.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
		Expect(k8s.Status().Update(ctx, crashed)).To(Succeed())
		node.container("web-b", "main") <- "2026-03-01T12:00:01Z before"
		Expect(fairlead(ctx, namespace, "logs", "shop", "-p", "--all-containers")).
			To(Equal(result{Out: "[pod/web-b/main] before\n"}))
		Expect(node.asked()).To(HaveKeyWithValue("previous", []string{"true"}))
		Expect(fairlead(ctx, namespace, "logs", "shop", "-p", "-f").Code).To(Equal(2))
	})

	It("names the existing containers if a container is unknown, and completes their names",
		func(ctx SpecContext) {
			namespace, node := newNamespace(ctx), newKubelet(ctx)
			podOf(ctx, node, namespace, "web-a", workload(ctx, namespace, "web"))
			holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web")
			r := fairlead(ctx, namespace, "logs", "shop", "-c", "sidecar")
			Expect(r).To(And(HaveField("Code", 1), HaveField("Err",
				ContainSubstring(`no pod has a container "sidecar"; the pods have main, proxy`))))

			p := start(ctx, namespace, "logs", "shop", "-f", "-c", "sidecar")
			Eventually(ctx, p.err).
				Should(gbytes.Say(`^warning: no pod has a container "sidecar"; the pods have main, proxy; ` +
					"waiting for such a pod\n$"))
			p.stop()
			Eventually(ctx, p.code).Should(Receive(Equal(0)))

			flags := connected(namespace)
			complete := func(args ...string) string {
				return run(ctx, append([]string{flags[0], "__complete"}, append(flags[1:], args...)...)...).Out
			}
			Expect(complete("logs", "shop", "-c", "")).To(HavePrefix("main\nproxy\n:4\n"))
			Expect(complete("logs", "shop", "deployment/web", "--container", "pr")).To(HavePrefix("proxy\n:4\n"))
			Expect(complete("logs", "-c", "")).To(HavePrefix(":4\n"), "got completions although no component is named")
		})

	It("names the dependents with pods if a named dependent has no pods", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web", "/v1/ConfigMap/"+namespace+"/settings")
		r := fairlead(ctx, namespace, "logs", "shop", "deployment/db")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("has no dependent deployment/db with pods; it has deployment/web"))
		Expect(fairlead(ctx, namespace, "logs", "shop", "web").Code).To(Equal(2))
		Expect(fairlead(ctx, namespace, "logs", "shop")).
			To(Equal(result{Err: "component.fairlead.io/shop has no pods that have started.\n"}))
	})

	It("refuses to read more logs than --max-log-requests", func(ctx SpecContext) {
		namespace, node := newNamespace(ctx), newKubelet(ctx)
		web := workload(ctx, namespace, "web")
		podOf(ctx, node, namespace, "web-a", web)
		podOf(ctx, node, namespace, "web-b", web)
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web")
		r := fairlead(ctx, namespace, "logs", "shop", "--max-log-requests=1")
		Expect(r).To(And(HaveField("Code", 1), HaveField("Err",
			ContainSubstring("2 logs are more than --max-log-requests 1"))))
		r = fairlead(ctx, namespace, "logs", "shop", "--max-log-requests=1", "-f")
		Expect(r).To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("raise --max-log-requests"))))
	})
}))
