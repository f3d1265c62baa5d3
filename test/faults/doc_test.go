// Package faults_test plays the life of a component with many things that go wrong: see pkg/component/componenttest.
package faults_test
