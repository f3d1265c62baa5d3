// Package testcluster starts real Kubernetes clusters for tests: the dev cluster of test/devcluster, which "make
// cluster" builds, or the cluster of controller-runtime's envtest if the environment variable KUBEBUILDER_ASSETS names
// a folder with etcd and kube-apiserver. Tests of other projects set FAIRLEAD_DEVCLUSTER to the path of the dev
// cluster's program.
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
// A cluster takes about three seconds to start and half a gigabyte of memory. So the tests of a package share a
// cluster, and each test uses its own namespace.
package testcluster
