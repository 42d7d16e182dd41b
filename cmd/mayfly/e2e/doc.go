// Package e2e tests the whole program: its commands, servers in processes of their own, browsers
// and SDKs, and the commands in README and the documentation. It contains only tests. Tests of a
// single function are beside that function, in packages cli, client and server.
package e2e
