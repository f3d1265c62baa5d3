// Package cloud does for a cluster of this machine what a cloud provider does: it provisions the volumes of claims, and
// gives addresses to Services of type LoadBalancer and to Ingresses. Nothing is stored and nobody listens at the
// addresses; the objects look as they do in a cloud, so that what waits for them goes on.
//
// It is three controllers in the supervisor's process. Each looks at one object at a time, and writes what follows from
// this object alone, so they have no state and need no order. An error is not reported: every object is looked at again
// after resyncPeriod.
//
//   - A claim whose class has Provisioner gets a PersistentVolume; the controller manager binds the two. A released
//     volume is deleted. The class DefaultClass is the default, and binds when a pod is scheduled, as in most clouds.
//   - A load balancer has the address of its Service, moved by loadBalancerOffset. So the addresses are different.
//   - All Ingresses have one address, like those of one ingress controller. Their class is not looked at.
package cloud
