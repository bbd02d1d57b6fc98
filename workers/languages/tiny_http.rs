// A server of tiny_http, which waits for requests. Usage: worker PORT
fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let server = tiny_http::Server::http(format!("127.0.0.1:{port}")).expect("a free port");
    println!("ready");
    for request in server.incoming_requests() {
        let _ = request.respond(tiny_http::Response::from_string("hello"));
    }
}
