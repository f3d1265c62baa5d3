// Package componentroles derives the RBAC roles that a component needs: the roles of the component's service account,
// and the additional role with which the operator watches the component's types.
//
// The rules allow the requests that the engine makes for each dependent. This package computes the rules from rendered
// objects and policies. It sends no requests to check the existing rights of an account.
package componentroles
