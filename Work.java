import java.util.*;
public class Work {
	public static void main(String[] args) throws Exception {
		TreeMap<String, int[]> m = new TreeMap<>();
		for (int i = 0; i < 3000; i++) m.put("n" + i * 7919 % 3000, new int[5]);
		Thread[] t = new Thread[4];
		for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> java.nio.ByteBuffer.allocateDirect(100000)); t[i].start(); }
		for (Thread x : t) x.join();
		System.out.println(m.size());
	}
}
