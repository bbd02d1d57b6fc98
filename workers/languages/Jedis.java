/** A worker that waits for jobs of a list in Redis. Usage: java Jedis.java PORT */
class Worker {
    public static void main(String[] arguments) {
        try (var redis = new redis.clients.jedis.Jedis("127.0.0.1", Integer.parseInt(arguments[0]))) {
            System.out.println("ready");
            while (true) {
                redis.blpop(0, "jobs");
                System.out.println("job done");
            }
        }
    }
}
