package gateway

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/otlpgw/otlpgw/converter"
)

// Names from opentelemetry/proto/collector/metrics/v1/metrics_service.proto.
const (
	metricsService = "opentelemetry.proto.collector.metrics.v1.MetricsService"
	exportMethod   = "Export"
	exportFullName = "/" + metricsService + "/" + exportMethod
)

// Bounds of the gRPC server.
const (
	// maxStreams bounds the requests at once of one connection.
	maxStreams = 1024
	// maxOtherMessage bounds the messages of every service but ours, in bytes.
	// Ours reads its own, see receiveGRPC.
	maxOtherMessage = 16 << 10
	// streamWindow and connWindow bound what one stream and one connection may
	// send before anybody has asked for it, in bytes: memory that admission does
	// not see. A request that is being read gets a larger window by asking for
	// larger pieces. Left to itself grpc-go grows both to 16 MiB.
	streamWindow = 256 << 10
	connWindow   = 1 << 20
	// maxGRPCMessage bounds the text of a status in bytes. It travels in a
	// header, twice when there are details, and Java's client accepts 8 KiB of
	// those.
	maxGRPCMessage = 1 << 10
)

// exportDesc is the service, registered by hand because the generated one
// builds the request message before anybody can look at it.
var exportDesc = grpc.ServiceDesc{
	ServiceName: metricsService,
	HandlerType: (*exportServer)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: exportMethod, Handler: handleExport}},
	Metadata:    "opentelemetry/proto/collector/metrics/v1/metrics_service.proto",
}

type exportServer interface {
	export(context.Context) (*rawReply, error)
}

// handleExport does not call decode: the message is read from the stream.
func handleExport(srv any, ctx context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	reply, err := srv.(exportServer).export(ctx)
	if err != nil {
		return nil, err
	}
	return reply, nil
}

func (g *Gateway) newGRPCServer() *grpc.Server {
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(rawCodec{}),
		grpc.MaxRecvMsgSize(maxOtherMessage),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.ConnectionTimeout(readHeaderTimeout),
		grpc.InTapHandle(g.tap),
		grpc.UnknownServiceHandler(g.unknownService),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: 3 * idleTimeout,
			// Connections move on, so that replicas that are added get their share.
			MaxConnectionAge:      30 * time.Minute,
			MaxConnectionAgeGrace: g.o.RequestTimeout,
			Time:                  time.Minute,
			Timeout:               20 * time.Second,
		}),
		// Clients ping idle connections through load balancers; grpc-go would
		// hang up on those that do so more often than every 5 minutes.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             10 * time.Second,
			PermitWithoutStream: true,
		}),
	)
	s.RegisterService(&exportDesc, g)
	grpc_health_v1.RegisterHealthServer(s, &healthServer{g: g})
	return s
}

// tap sees a request before its stream exists. It must not block.
func (g *Gateway) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName != exportFullName {
		return ctx, nil
	}
	if g.gate.full() {
		g.metrics.refused[refusedBytes].Inc()
		return nil, g.refuseGRPC(g.gate.busyBytes())
	}
	ctx, cancel := context.WithTimeout(ctx, g.o.RequestTimeout)
	// Not needed: the end of the stream cancels the parent, and with it the timer.
	_ = cancel
	return stallable(ctx), nil
}

// export serves MetricsService/Export. Errors are statuses.
func (g *Gateway) export(ctx context.Context) (reply *rawReply, err error) {
	start := time.Now()
	if err := g.enter(); err != nil {
		return nil, g.refuseGRPC(err)
	}
	defer g.leave()
	m := &g.metrics.overGRPC
	m.inFlight.Inc()
	defer m.inFlight.Dec()

	rules := g.rules.Load()
	owner, err := g.ownerOfGRPC(ctx, rules.tenancy)
	if err != nil {
		return nil, g.refuseGRPC(err)
	}
	x := g.exchanges.Get()
	x.owner = owner
	if from, ok := peer.FromContext(ctx); ok && rules.PassPeer {
		x.peer = from.Addr.String()
	}
	defer func() {
		if v := recover(); v != nil {
			if x != nil {
				x.abandon()
			}
			reply, err = nil, g.refuseGRPC(g.caught("grpc", v))
		}
	}()
	bound := limit{rules.GRPCMaxRequestSize, "grpc.max-request-size"}
	c, err := x.receiveGRPC(ctx, bound)
	var report converter.Report
	if err == nil {
		report, err = x.push(ctx, c, false, bound)
	}
	size := x.size
	x.done()
	x = nil
	if err != nil {
		return nil, g.refuseGRPC(err)
	}
	m.finished(start, size)
	g.metrics.answeredGRPC(codes.OK)
	return newRawReply(&report), nil
}

// refuseGRPC returns err as a status, and counts it.
func (g *Gateway) refuseGRPC(err error) error {
	a := g.answerTo("grpc", err)
	g.metrics.answeredGRPC(a.grpc)
	return status.FromProto(a.status(maxGRPCMessage)).Err()
}

// unknownService answers what is not served here, with a hint where there is
// one: SDKs send every signal to the one endpoint that they are given.
func (g *Gateway) unknownService(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	return g.refuseGRPC(&failure{outcomeNoPath, g.hintForMethod(method)})
}
