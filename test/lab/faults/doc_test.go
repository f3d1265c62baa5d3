// Package faults_test runs the life of a component with many injected faults; see pkg/component/componenttest.
package faults_test
