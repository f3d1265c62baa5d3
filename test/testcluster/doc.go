// Package testcluster gives tests a real Kubernetes cluster: the one of test/devcluster, which "make cluster" builds,
// or, where the environment variable KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver, the one of
// controller-runtime's envtest. Tests of other projects say by FAIRLEAD_DEVCLUSTER where the program of the dev cluster
// is.
//
// In a test, or a ginkgo BeforeSuite with GinkgoTB():
//
//	cluster := testcluster.StartFor(t, testcluster.Options{Nodes: 1})
//	c, err := client.New(cluster.Config(), client.Options{})
//
// In TestMain, or outside tests:
//
//	cluster, err := testcluster.Start(ctx, testcluster.Options{Audit: true})
//	defer cluster.Stop()
//
// A cluster takes about three seconds and half a gigabyte, so a package's tests share one, each in a namespace of its
// own.
package testcluster
